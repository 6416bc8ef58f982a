package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/recovery/replay"
	"tributary/schemas"
)

// What is asked for must be one thing, and clear.
func TestReplayFlags(t *testing.T) {
	for _, c := range []struct {
		flags replayFlags
		want  string // what is wrong; empty: nothing
	}{
		{replayFlags{from: "unzip", since: "24h"}, ""},
		{replayFlags{from: "data", since: "2026-01-01", until: "2026-02-01", choice: replay.Choice{Predicate: "true"}, rate: 0.5}, ""},
		{replayFlags{from: "download", offsets: "status.changed/0:1-2"}, ""},
		{replayFlags{from: "xsd", shadow: "tighter", since: "24h"}, ""},
		{replayFlags{from: "xsd", shadow: "7", since: "24h"}, "is no name"},
		{replayFlags{from: "download", shadow: "tighter", since: "24h"}, "begin with unzip"},
		{replayFlags{from: "data", shadow: "tighter", since: "24h"}, "replay from data without a shadow"},
		{replayFlags{since: "24h"}, "from which phase?"},
		{replayFlags{from: "qc", since: "24h"}, `--from "qc" is not known: use download, unzip, xsd, upload, data`},
		{replayFlags{from: "unzip"}, "which files?"},
		{replayFlags{stale: true}, ""},
		{replayFlags{stale: true, from: "data", since: "24h", choice: replay.Choice{Predicate: "true"}}, ""},
		{replayFlags{stale: true, from: "download"}, "nothing is stale in download"},
		{replayFlags{stale: true, offsets: "status.changed/0:1-2"}, "not by both"},
		{replayFlags{from: "unzip", since: "24h", offsets: "status.changed/0:1-2"}, "not by both"},
		{replayFlags{from: "unzip", since: "yesterday"}, "is no moment"},
		{replayFlags{from: "unzip", since: "1h", until: "2h"}, "--since 1h is not before --until 2h"},
		{replayFlags{from: "unzip", since: "2026-01-01", until: "2026-01-01"}, "is not before"},
		{replayFlags{from: "unzip", offsets: "0-5"}, "names no offsets"},
		{replayFlags{from: "unzip", choice: replay.Choice{Predicate: "true; true"}}, "semicolon"},
		{replayFlags{from: "unzip", since: "24h", rate: -1}, "--rate must be"},
		{replayFlags{from: "unzip", since: "24h", rate: 1e-9}, "--rate must be"},
	} {
		err := c.flags.read(time.Now())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.flags, err, c.want)
		}
	}
}

// The dry run counts what is asked for, and names the phases that run.
func TestReplayIsCounted(t *testing.T) {
	versions := []replay.Version{{File: "1", Archive: "a", Centre: "H", Bytes: 10, Documents: 2}, {File: "2", Archive: "b", Centre: "H", Bytes: 5, Documents: 1}, {File: "3"}}
	for from, want := range map[string]string{
		schemas.FromXSD: "would be replayed: 2 files, 3 documents, 15 bytes, of 1 centres (and 1 files whose names were refused, of which nothing was ever fetched)\n" +
			"phases: xsd, upload, data, context, overview\n",
		schemas.FromData: "would be replayed: 2 files, 3 documents, 15 bytes, of 1 centres (and 1 files whose names were refused, of which nothing was ever fetched)\n" +
			"phases: data, context, overview, on all records of H\n",
	} {
		tally, items := tallyOf(from), 0
		for _, v := range versions {
			if _, ok := tally.take(v); ok {
				items++
			}
		}
		if n := map[string]int{schemas.FromXSD: 2, schemas.FromData: 1}[from]; items != n {
			t.Errorf("from %s: %d items, want %d", from, items, n)
		}
		var out strings.Builder
		if err := tally.write(newCLI(nil, &out, nil, nil), "text", nil); err != nil {
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
	if err := (&replayRow{Replay: 2, From: "xsd", State: "running", Promotes: "tighter", Waiting: 1, Held: "another profile", Waits: []replayWait{{1, "the file is to be fetched", "add/f.zip"}}}).write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\nwaits      another profile\nwaits      1 files such as add/f.zip: the file is to be fetched\n") {
		t.Errorf("it says:\n%s", out.String())
	}
}
