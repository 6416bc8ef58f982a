//go:build !race

package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"tributary/internal/screen"
	"tributary/internal/screen/screentest"
	"tributary/test/wait"
)

// What is asked of the past wrongly is refused before anything is opened.
func TestMomentsOnTheCommandLine(t *testing.T) {
	for name, x := range map[string]struct {
		args   []string
		stderr string
	}{
		"no moment":         {[]string{"files", "--as-of", "yesterday"}, `--as-of: "yesterday" is no moment: use RFC 3339`},
		"status":            {[]string{"status", "--as-of", "2026-13-01"}, `"2026-13-01" is no moment`},
		"documents":         {[]string{"documents", "--as-of", "-2h"}, `"-2h" is no moment`},
		"show":              {[]string{"show", "a.zip", "--as-of", "2"}, `"2" is no moment`},
		"no events":         {[]string{"status", "--as-of", "2h", "--max-events", "0"}, "allow at least one"},
		"diff from nothing": {[]string{"diff"}, "say from when: --from, RFC 3339"},
		"diff to nothing":   {[]string{"diff", "--from", "2h", "--to", "soon"}, `--to: "soon" is no moment`},
		"diff backwards":    {[]string{"diff", "--from", "2026-11-22", "--to", "2026-11-21"}, "--from 2026-11-22 is not before --to 2026-11-21"},
		"diff of a later":   {[]string{"diff", "--from", "2999-01-01"}, "is not before"},
		"diff as CSV":       {[]string{"diff", "--from", "2h", "-o", "csv"}, `--output "csv" is not known: use table, json`},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := tributary(t, local, x.args...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, x.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d and %q", code, stdout, stderr, exitUsage, x.stderr)
			}
		})
	}
}

// Progress is told only of what takes long: on one line of a terminal, which is
// taken away at the end, elsewhere as lines.
func TestProgressOfThePast(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	pty := screentest.New(t, 80, 24)
	for name, x := range map[string]struct {
		next time.Duration // from now
		want string
	}{"soon done": {time.Hour, ""}, "long": {0, "1 of 3 events read\n"}} {
		var out bytes.Buffer
		tellPast(&out, x.next)
		if out.String() != x.want {
			t.Errorf("%s: %q, want %q", name, out.String(), x.want)
		}
	}
	tellPast(screen.Of(pty.Program), 0)
	pty.Until(ctx, func(shown string) bool { return shown == "1 of 3 events read\r\x1b[J" })
}

func tellPast(w io.Writer, next time.Duration) {
	p := &pastProgress{w: w, next: time.Now().Add(next)}
	p.report(1, 3)
	p.report(2, 3)
	p.end()
	p.end()
}
