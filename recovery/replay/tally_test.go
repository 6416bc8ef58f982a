//go:build !race

package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// The dry run counts what is asked for, and names the phases that run.
func TestReplayIsCounted(t *testing.T) {
	versions := []Version{{File: "1", Archive: "a", Centre: "H", Bytes: 10, Documents: 2}, {File: "2", Archive: "b", Centre: "H", Bytes: 5, Documents: 1}, {File: "3"}}
	for from, want := range map[string]string{
		schemas.FromXSD: "would be replayed: 2 files, 3 documents, 15 bytes, of 1 centres (and 1 files whose names were refused, of which nothing was ever fetched)\n" +
			"phases: xsd, upload, data, context, overview\n",
		schemas.FromData: "would be replayed: 2 files, 3 documents, 15 bytes, of 1 centres (and 1 files whose names were refused, of which nothing was ever fetched)\n" +
			"phases: data, context, overview, on all records of H\n",
	} {
		tally, items := NewTally(from, ""), 0
		for _, v := range versions {
			if _, ok := tally.count(v); ok {
				items++
			}
		}
		if n := map[string]int{schemas.FromXSD: 2, schemas.FromData: 1}[from]; items != n {
			t.Errorf("from %s: %d items, want %d", from, items, n)
		}
		var out strings.Builder
		if err := tally.Requested(nil).WriteText(&out); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("from %s:\n%s", from, d)
		}
	}
}

// A replay that members leave alone says what it waits for.
func TestAReplayThatIsHeldSaysWhy(t *testing.T) {
	var out strings.Builder
	if err := (&Status{Replay: 2, From: "xsd", State: "running", Promotes: "tighter", Waiting: 1, Held: "another profile", Waits: []Wait{{1, "the file is to be fetched", "add/f.zip"}}}).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\nwaits      another profile\nwaits      1 files such as add/f.zip: the file is to be fetched\n") {
		t.Errorf("it says:\n%s", out.String())
	}
}

// What is stale is told with the reason, and what a replay leaves so.
func TestStaleIsTold(t *testing.T) {
	xsd := StalePhase{Phase: "xsd", Files: 3, Groups: []StaleGroup{{Kind: "specimen", Now: "b", Files: 1, Documents: 2}, {Kind: "specimen", Version: "a", Now: "b", Files: 2, Documents: 4}}}
	data := StalePhase{Phase: "data", Files: 5, Other: 2, Groups: []StaleGroup{{Version: "c", Now: "d", Files: 5, Documents: 9}}}
	for _, c := range []struct {
		from  string
		found []StalePhase
		want  string
	}{
		{"", nil, "nothing is stale: all was judged by what the profile has now\n"},
		{"upload", []StalePhase{data}, "nothing is stale in upload: all was judged by what the profile has now\n" +
			"stale in data: 5 files; ask for it with --from data\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n"},
		{"xsd", []StalePhase{xsd, data}, "stale in xsd: 3 files\n" +
			"  specimen: 2 documents of 1 files, judged by nobody knows what, now b\n  specimen: 4 documents of 2 files, judged by version a, now b\n" +
			"stale in data: 5 files; of these, 2 are not stale in xsd and stay as they are: ask again after this replay\n  of unknown kind: 9 documents of 5 files, judged by version c, now d\n"},
		{"unzip", []StalePhase{{Phase: "unzip", Files: 1}, xsd}, "stale in unzip: 1 files\nstale in xsd: 3 files, which the replay from unzip takes along\n" +
			"  specimen: 2 documents of 1 files, judged by nobody knows what, now b\n  specimen: 4 documents of 2 files, judged by version a, now b\n"},
	} {
		var out strings.Builder
		if err := WriteStale(&out, c.from, c.found); err != nil {
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
	data := StalePhase{Phase: "data", Files: 5, Groups: []StaleGroup{{Now: "d", Files: 5, Documents: 9}}}
	type row struct {
		Files   *int         `json:"files"`
		Replay  int          `json:"replay"`
		From    string       `json:"from"`
		Phases  []string     `json:"phases"`
		Centres []string     `json:"centres"`
		Stale   []StalePhase `json:"stale"`
	}
	for _, c := range []struct {
		from  string
		found []StalePhase
	}{{"", nil}, {"upload", []StalePhase{data}}} {
		var out strings.Builder
		if err := json.NewEncoder(&out).Encode(NothingStale(c.from, c.found)); err != nil {
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
