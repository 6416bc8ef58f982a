package profiles

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func weather(t *testing.T, seed uint64) *Corpus {
	t.Helper()
	c, err := Weather(seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSameSeedSameCorpus(t *testing.T) {
	a, b := weather(t, 4), weather(t, 4)
	for i := range a.uploads {
		if a.uploads[i].sha != b.uploads[i].sha {
			t.Errorf("%s differs", a.uploads[i].file())
		}
	}
	if d := cmp.Diff(a.Oracle(2, true), b.Oracle(2, true)); d != "" {
		t.Error(d)
	}
	if a.uploads[0].sha == weather(t, 5).uploads[0].sha {
		t.Error("another seed gives the same files")
	}
}

// The corpus must have what the end-to-end test is to see.
func TestEverythingHappens(t *testing.T) {
	c := weather(t, 1)
	one, two, listed := c.Oracle(1, false), c.Oracle(2, false), c.Oracle(2, true)
	tests := func(o Oracle) map[string]int {
		out := map[string]int{}
		for _, f := range o.Tables["finding"] {
			out[strings.SplitN(f, "|", 2)[0]]++
		}
		return out
	}
	a, b, l := tests(one), tests(two), tests(listed)
	for _, name := range []string{"station_unknown", "sensor_missing", "already_present", "resubmitted", "edit_of_unknown", "delete_of_unknown"} {
		if a[name] == 0 {
			t.Errorf("no %s in session 1", name)
		}
	}
	if b["station_unknown"] >= a["station_unknown"] || b["station_unknown"] == 0 {
		t.Errorf("station_unknown: %d, then %d", a["station_unknown"], b["station_unknown"])
	}
	if b["value_out_of_range"] != 0 || l["value_out_of_range"] == 0 {
		t.Errorf("value_out_of_range: %d without the list, %d with it", b["value_out_of_range"], l["value_out_of_range"])
	}
	if len(one.Files) != len(two.Files)-2 {
		t.Errorf("%d files, then %d: one is uploaded again, two are new", len(one.Files), len(two.Files))
	}
}

// libxml2 must agree with the oracle on every document.
func TestDocumentsAreValid(t *testing.T) {
	tool, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skipf("xmllint is not installed: %v", err)
	}
	for _, u := range weather(t, 1).uploads {
		for _, d := range u.docs {
			cmd := exec.Command(tool, "--noout", "--schema", filepath.Join("weather", "xsd", d.kind+".xsd"), "-")
			cmd.Stdin = strings.NewReader(string(d.render()))
			out, err := cmd.CombinedOutput()
			broken := d.fault == "xsd_invalid" || d.fault == "xml_not_well_formed"
			if (err != nil) != broken {
				t.Errorf("%s of %s (%s): %v\n%s", d.name, u.file(), d.fault, err, out)
			}
		}
	}
}

// What the how-tos show of the profile must be in it, line by line.
func TestHowToShowsTheProfile(t *testing.T) {
	var all strings.Builder
	err := filepath.WalkDir("weather", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for _, name := range []string{"write-a-profile.md", "write-checks.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", name))
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(page)
	}
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```(yaml|sql)\n(.*?)```").FindAllStringSubmatch(shown.String(), -1) {
		if strings.Contains(block[2], "sources:") {
			continue // a configuration
		}
		for line := range strings.Lines(block[2]) {
			line = strings.TrimRight(line, "\n")
			if strings.Contains(line, "…") {
				continue
			}
			lines++
			if !strings.Contains(all.String(), line+"\n") {
				t.Errorf("the profile has no line %q", line)
			}
		}
	}
	if lines < 70 {
		t.Errorf("only %d lines were looked at", lines)
	}
}
