//go:build !race

package main

import (
	"strings"
	"testing"
	"time"

	"tributary/recovery/replay"
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
