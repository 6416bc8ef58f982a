package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/producers/replay"
)

// What is stale is told with the reason, and what a replay leaves so.
func TestStaleIsTold(t *testing.T) {
	xsd := replay.StalePhase{Phase: "xsd", Files: 3, Groups: []replay.StaleGroup{{Kind: "specimen", Now: "b", Files: 1, Documents: 2}, {Kind: "specimen", Version: "a", Now: "b", Files: 2, Documents: 4}}}
	data := replay.StalePhase{Phase: "data", Files: 5, Other: 2, Groups: []replay.StaleGroup{{Version: "c", Now: "d", Files: 5, Documents: 9}}}
	for _, c := range []struct {
		output, from string
		found        []replay.StalePhase
		want         string
	}{
		{"text", "", nil, "nothing is stale: all was judged by what the profile has now\n"},
		{"text", "upload", []replay.StalePhase{data}, "nothing is stale in upload: all was judged by what the profile has now\n" +
			"stale in data: 5 files; ask for it with --from data\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n"},
		{"text", "xsd", []replay.StalePhase{xsd, data}, "stale in xsd: 3 files\n" +
			"  specimen: 2 documents of 1 files, judged by nobody knows what, now b\n  specimen: 4 documents of 2 files, judged by version a, now b\n" +
			"stale in data: 5 files; of these, 2 are not stale in xsd and stay as they are: ask again after this replay\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n"},
		{"text", "data", []replay.StalePhase{data, {Phase: "xsd", Files: 1}}, "stale in data: 5 files\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n" +
			"stale in xsd: 1 files, which the replay from data takes along\n"},
		{"json", "upload", []replay.StalePhase{data}, ""},
		{"json", "data", []replay.StalePhase{data}, ""},
	} {
		var out strings.Builder
		if err := newCLI(nil, &out, nil, nil).writeStale(c.output, c.from, c.found); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out.String()); d != "" {
			t.Errorf("%s from %q:\n%s", c.output, c.from, d)
		}
	}
}
