package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	change     = howTos + "change-tributary.md"
	mostOfOne  = 8  // files of the change that is made most often
	fewestSeen = 40 // paths of the page; where there are fewer, the test has not understood it
)

var (
	firstCell   = regexp.MustCompile(`(?m)^\| (.*?) \|`)
	placeholder = regexp.MustCompile(`NAME|NNNNN|TOPIC|<`)
	decides     = regexp.MustCompile("(?m)^\\| [^|]*\\? \\| `([^`]*)` \\| `([^`]*)` \\|$")
	slashed     = regexp.MustCompile(`^\w[\w.-]*(/[\w.-]+)+$`)
)

// named are the paths that a page names: all that stands as code in the first
// cells of its tables, where a bare name lies beside the path before it, and what
// else has a slash.
func named(text string) (out []string) {
	for _, cell := range firstCell.FindAllStringSubmatch(text, -1) {
		folder := ""
		for _, m := range code.FindAllStringSubmatch(cell[1], -1) {
			name := m[1]
			if !strings.Contains(name, "/") {
				name = path.Join(folder, name)
			}
			folder = path.Dir(name)
			out = append(out, name)
		}
	}
	for _, m := range code.FindAllStringSubmatch(firstCell.ReplaceAllString(text, ""), -1) {
		if slashed.MatchString(m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// What the page says is to be changed is there, but for what the change makes.
func TestWhatAChangeTouchesIsThere(t *testing.T) {
	paths := named(pages(t)[change])
	if len(paths) < fewestSeen {
		t.Errorf("only %d paths were found in %s: %q", len(paths), change, paths)
	}
	for _, name := range paths {
		if placeholder.MatchString(name) {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("%s names %s, which is not there", change, name)
		}
	}
}

// A column of the tracker, which the page shows first, is a change of few files.
// Of files that are named with an "or" between them it is one.
func TestAColumnIsAChangeOfFewFiles(t *testing.T) {
	_, rest, _ := strings.Cut(pages(t)[change], "\n## Add a column to the tracker\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	n := 0
	for _, cell := range firstCell.FindAllStringSubmatch(section, -1) {
		n += len(code.FindAllString(cell[1], -1)) - strings.Count(cell[1], "` or `")
	}
	if n == 0 || n > mostOfOne {
		t.Errorf("%s names %d files for a column of the tracker, want 1 to %d", change, n, mostOfOne)
	}
}

// What the page of the architecture says decides something is in the file beside it.
func TestWhereTheCodeDecides(t *testing.T) {
	const page = "docs/explanation/architecture.md"
	_, rest, _ := strings.Cut(pages(t)[page], "\nWhere the code decides:\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	rows := decides.FindAllStringSubmatch(section, -1)
	if len(rows) == 0 {
		t.Fatalf("%s says nowhere where the code decides", page)
	}
	for _, row := range rows {
		text, err := os.ReadFile(filepath.Join(root, row[1]))
		if err != nil || !regexp.MustCompile(`\b`+row[2]+`\b`).Match(text) {
			t.Errorf("%s names %s in %s, which is not there (%v)", page, row[2], row[1], err)
		}
	}
}
