// Package floors holds the program's imports against the floors that
// docs/explanation/architecture.md draws: arrows point down only, no stage
// imports another, and no folder depends on itself by way of others.
package floors

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "draw the picture in docs/explanation/architecture.md anew")

// floors are the folders of the program, the lowest floor first. Folders of one
// floor don't import each other. The linter has the same order (depguard in
// .golangci.yml), and says it where the code is written.
func floors() [][]string {
	return [][]string{
		{"schemas"},
		{"internal"},
		{"sql", "topics"},
		{"consumers", "producers"},
		{"queries"},
		{"recovery"},
		{"web"},
		{"cmd"},
	}
}

// shared are packages of the stages' folders that are no stage: several stages of
// that folder stand on them. The list apart of the linter allows the same.
func shared() []string {
	return []string{"producers/refused", "producers/sources", "producers/sourcestate"}
}

const picture = "../../docs/explanation/architecture.md"

// imports are the program's own packages, each with those of its own it imports.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	args := []string{"list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}"}
	for _, floor := range floors() {
		for _, folder := range floor {
			args = append(args, "tributary/"+folder+"/...")
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := strings.TrimPrefix(words[0], "tributary/")
		all[from] = nil
		for _, to := range words[1:] {
			if own, is := strings.CutPrefix(to, "tributary/"); is {
				all[from] = append(all[from], own)
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("go list names %d packages only", len(all))
	}
	return all
}

func folder(pkg string) string { top, _, _ := strings.Cut(pkg, "/"); return top }

// stage is the component of producers or consumers that a package belongs to, or
// nothing.
func stage(pkg string) string {
	parts := strings.Split(pkg, "/")
	if len(parts) < 2 || parts[0] != "producers" && parts[0] != "consumers" || slices.Contains(shared(), pkg) {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

func TestArrowsPointDown(t *testing.T) {
	level := map[string]int{}
	for n, floor := range floors() {
		for _, folder := range floor {
			level[folder] = n
		}
	}
	for from, all := range imports(t) {
		for _, to := range all {
			below, known := level[folder(to)]
			switch {
			case !known:
				t.Errorf("%s imports %s, which stands on no floor", from, to)
			case folder(from) != folder(to) && below >= level[folder(from)]:
				t.Errorf("%s imports %s: an arrow that does not point down", from, to)
			}
			if a, b := stage(from), stage(to); a != "" && b != "" && a != b {
				t.Errorf("%s imports %s: stages meet at topics and at control's tables", from, to)
			}
		}
	}
}

// Sources are only read, by all but the one package that does what they define as
// done_with: who may write to a server is who imports the ability to. Beside it are the
// connectors that have it, and the suite that they pass.
func TestWhoMayWriteToSources(t *testing.T) {
	const ability = "internal/remote/writing"
	var may []string
	for from, all := range imports(t) {
		if slices.Contains(all, ability) {
			may = append(may, from)
		}
	}
	slices.Sort(may)
	if d := cmp.Diff([]string{"internal/remote", "internal/remote/file", "internal/remote/ftp", "internal/remote/http", "internal/remote/remotetest", "internal/remote/s3", "internal/remote/sftp", "producers/donewith"}, may); d != "" {
		t.Errorf("who may write to sources (-want +got):\n%s", d)
	}
}

// A connector knows what all promise, and none of the others, but for S3, which stands
// on HTTP; and only their list knows them.
func TestConnectorsStandApart(t *testing.T) {
	const remote = "internal/remote"
	list := []string{remote, remote + "/connectors", remote + "/remotetest", remote + "/writing"}
	allowed := []string{remote + "/s3 on " + remote + "/http"}
	var on []string
	for from, all := range imports(t) {
		for _, to := range all {
			if strings.HasPrefix(to, remote+"/") && !slices.Contains(list, to) && from != remote+"/connectors" {
				on = append(on, from+" on "+to)
			}
		}
	}
	if d := cmp.Diff(allowed, on); d != "" {
		t.Errorf("what stands on connectors (-want +got):\n%s", d)
	}
}

// The programs that lie outside of the floors are tests and tools: nothing of the
// program imports them, and each of its folders stands on a floor.
func TestEveryFolderStandsOnAFloor(t *testing.T) {
	var known []string
	for _, floor := range floors() {
		known = append(known, floor...)
	}
	known = append(known, "bench", "compose", "docs", "examples", "mk", "test", "tools")
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" && !slices.Contains(known, e.Name()) {
			if sources, err := os.ReadDir("../../" + e.Name()); err == nil && slices.ContainsFunc(sources, func(s os.DirEntry) bool { return strings.HasSuffix(s.Name(), ".go") }) {
				t.Errorf("%s has Go files and stands on no floor", e.Name())
			}
		}
	}
}

// The image's build gets every floor, and so does whoever looks for what it needs.
func TestTheImageHasEveryFloor(t *testing.T) {
	given, err := os.ReadFile("../../compose/Dockerfile.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, floor := range floors() {
		for _, folder := range floor {
			if !slices.Contains(strings.Split(string(given), "\n"), "!"+folder) {
				t.Errorf("compose/Dockerfile.dockerignore keeps %s from the image's build", folder)
			}
		}
	}
}

// The picture in the docs is the one that the imports draw.
func TestPicture(t *testing.T) {
	arrows := map[string]bool{}
	for from, all := range imports(t) {
		for _, to := range all {
			if folder(from) != folder(to) {
				arrows[folder(from)+" --> "+folder(to)] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for n, floor := range slices.Backward(floors()) {
		fmt.Fprintf(&b, "  subgraph floor%d[\" \"]\n    %s\n  end\n", n, strings.Join(floor, "\n    "))
	}
	for _, arrow := range slices.Sorted(maps.Keys(arrows)) {
		fmt.Fprintf(&b, "  %s\n", arrow)
	}
	b.WriteString("```\n")
	page, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- Drawn by `go test ./test/floors -update` from the imports. -->\n", "<!-- End of the drawn picture. -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	drawn, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the picture", picture)
	}
	if *update {
		if err := os.WriteFile(picture, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(b.String(), drawn); d != "" {
		t.Errorf("%s does not show what the imports are, draw it with -update (-want +got):\n%s", picture, d)
	}
}
