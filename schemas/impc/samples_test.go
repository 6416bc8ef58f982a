package impc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSamples judges real documents: each sample with its own. What is known to
// be wrong with some must be found, and the context must be right.
func TestSamples(t *testing.T) {
	dir := os.Getenv("TRIBUTARY_IMPC")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "impc")
	}
	files, err := filepath.Glob(filepath.Join(dir, "samples", "valid", "*.xml"))
	must(t, err)
	if len(files) == 0 {
		t.Skipf("no samples in %s: name their folder in TRIBUTARY_IMPC", dir)
	}
	want := map[string][]string{ // tests that must find something, by a part of the file's name
		"IMPC_BWT_001_repeated_parameters": {"parameter_repeated", "specimen_unknown"},
		"UnknownSpecimen":                  {"specimen_unknown"},
	}
	s := newStore(t)
	centre := regexp.MustCompile(`centreID="([^"]*)"`)
	judged := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		centres := map[string]bool{}
		for _, m := range centre.FindAllStringSubmatch(string(text), -1) {
			centres[m[1]] = true
		}
		if len(centres) != 1 {
			continue // no file may be of several centres
		}
		judged++
		s.apart(t, func() {
			kind := "specimen"
			if strings.Contains(string(text), "centreProcedureSet") {
				kind = "experiment"
			}
			m := centre.FindStringSubmatch(string(text))
			s.load(document{kind: kind, centre: m[1], whole: string(text), date: "2020-01-01"})
			s.end(m[1])
			if diff := s.differences(m[1]); diff != "" {
				t.Errorf("%s: %s", filepath.Base(file), diff)
			}
			found := map[string]int{}
			for _, f := range s.open() {
				test, _, _ := strings.Cut(f, " ")
				found[test]++
			}
			t.Log(filepath.Base(file), found)
			for name, tests := range want {
				for _, test := range tests {
					if strings.Contains(file, name) && found[test] == 0 {
						t.Errorf("%s: the check %s found nothing", filepath.Base(file), test)
					}
				}
			}
		})
	}
	if judged < 40 {
		t.Errorf("only %d of %d samples were judged", judged, len(files))
	}
}
