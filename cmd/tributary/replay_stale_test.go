package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/recovery/replay"
)

// What is stale is told with the reason, and what a replay leaves so.
func TestStaleIsTold(t *testing.T) {
	xsd := replay.StalePhase{Phase: "xsd", Files: 3, Groups: []replay.StaleGroup{{Kind: "specimen", Now: "b", Files: 1, Documents: 2}, {Kind: "specimen", Version: "a", Now: "b", Files: 2, Documents: 4}}}
	data := replay.StalePhase{Phase: "data", Files: 5, Other: 2, Groups: []replay.StaleGroup{{Version: "c", Now: "d", Files: 5, Documents: 9}}}
	for _, c := range []struct {
		from  string
		found []replay.StalePhase
		want  string
	}{
		{"", nil, "nothing is stale: all was judged by what the profile has now\n"},
		{"upload", []replay.StalePhase{data}, "nothing is stale in upload: all was judged by what the profile has now\n" +
			"stale in data: 5 files; ask for it with --from data\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n"},
		{"xsd", []replay.StalePhase{xsd, data}, "stale in xsd: 3 files\n" +
			"  specimen: 2 documents of 1 files, judged by nobody knows what, now b\n  specimen: 4 documents of 2 files, judged by version a, now b\n" +
			"stale in data: 5 files; of these, 2 are not stale in xsd and stay as they are: ask again after this replay\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n"},
		{"unzip", []replay.StalePhase{{Phase: "unzip", Files: 1}, xsd}, "stale in unzip: 1 files\nstale in xsd: 3 files, which the replay from unzip takes along\n" +
			"  specimen: 2 documents of 1 files, judged by nobody knows what, now b\n  specimen: 4 documents of 2 files, judged by version a, now b\n"},
	} {
		var out strings.Builder
		if err := newCLI(nil, &out, nil, nil).writeStale(c.from, c.found); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out.String()); d != "" {
			t.Errorf("from %q:\n%s", c.from, d)
		}
	}
}

// Where nothing is replayed since nothing is stale, -o json says so in the row
// in which it says otherwise what is replayed.
func TestNothingStaleIsToldAsJSON(t *testing.T) {
	data := replay.StalePhase{Phase: "data", Files: 5, Groups: []replay.StaleGroup{{Now: "d", Files: 5, Documents: 9}}}
	type row struct {
		Files   *int                `json:"files"`
		Replay  int                 `json:"replay"`
		From    string              `json:"from"`
		Phases  []string            `json:"phases"`
		Centres []string            `json:"centres"`
		Stale   []replay.StalePhase `json:"stale"`
	}
	for _, c := range []struct {
		from  string
		found []replay.StalePhase
	}{{"", nil}, {"upload", []replay.StalePhase{data}}} {
		var out strings.Builder
		if err := newCLI(nil, &out, nil, nil).writeNothingStale("json", c.from, c.found); err != nil {
			t.Fatal(err)
		}
		var got row
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatalf("from %q: %v in %q", c.from, err, out.String())
		}
		want := row{Files: new(int), From: c.from, Phases: []string{}, Centres: []string{}, Stale: c.found}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("from %q:\n%s", c.from, d)
		}
	}
}
