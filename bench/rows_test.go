package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowsAreReadFromWhatBenchesPrint(t *testing.T) {
	least, most := row{name: "r", asked: 1.2, line: "bench a b"}, row{name: "r", asked: 0.05, most: true, unit: "s", line: "bench a", value: "first"}
	for _, test := range []struct {
		name    string
		row     row
		printed string
		want    []string
	}{
		{"a ratio", least, "bench a b ours=1.00s peer=1.30s ratio=1.30 rounds=5\n", []string{"r", "1.00s", "1.30s", "1.30", "≥ 1.2", "5", "reached"}},
		{"a ratio that is too low", least, "bench a b ours=1.00s peer=1.10s ratio=1.10 rounds=5\n", []string{"r", "1.00s", "1.10s", "1.10", "≥ 1.2", "5", "not reached"}},
		{"what a test logs", least, "    x_test.go:3: bench a b ratio=2 rounds=1\n", []string{"r", "", "", "2", "≥ 1.2", "1", "reached"}},
		{"another row's line", least, "bench a c ratio=2\n", []string{"r", "", "", "", "≥ 1.2", "", "not measured"}},
		{"the last of several", least, "bench a b ratio=2\nbench a b ratio=1\n", []string{"r", "", "", "1", "≥ 1.2", "", "not reached"}},
		{"an amount", most, "bench a first=0.05s rounds=3\n", []string{"r", "0.05 s", "", "", "≤ 0.05 s", "3", "reached"}},
		{"an amount that is too high", most, "bench a first=0.06s rounds=3\n", []string{"r", "0.06 s", "", "", "≤ 0.05 s", "3", "not reached"}},
		{"the floor", row{name: "r", asked: 0.8, line: "bench a", value: "of_floor", peer: "floor"}, "bench a ours=2s peer=1s ratio=0.5 floor=1.8s of_floor=0.9 rounds=2\n", []string{"r", "2s", "1.8s", "0.9", "≥ 0.8", "2", "reached"}},
		{"nothing", least, "", []string{"r", "", "", "", "≥ 1.2", "", "not measured"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.row.read(test.printed)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each row has a bench that is there, and its name in the table of the page.
func TestRowsAreMeasuredAndTold(t *testing.T) {
	page, err := os.ReadFile("../docs/explanation/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		seen[r.name] = true
		if !strings.Contains(string(page), "ROW="+r.name+"`") {
			t.Errorf("docs/explanation/performance.md doesn't name make bench ROW=%s", r.name)
		}
		for _, word := range strings.Fields(r.command) {
			if strings.HasPrefix(word, "./") {
				if _, err := os.Stat("../" + word); err != nil {
					t.Errorf("row %s: %v", r.name, err)
				}
			}
		}
	}
}
