package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tributary/internal/backoff"
	"tributary/internal/screen"
	"tributary/queries/report"
)

// oldestPictured is how many of the files that wait the live picture names.
const oldestPictured = 3

// showProgress shows once a second, below the log of a terminal, where files and
// documents stand; elsewhere nothing, since the log tells what happens.
func (a *app) showProgress(w io.Writer) func(context.Context) error {
	return func(ctx context.Context) error {
		t := screen.On(w)
		if t == nil {
			return nil
		}
		for range backoff.Every(ctx, time.Second) {
			// Without the tracker's database there is nothing to show, and the
			// log says why.
			now := time.Now()
			if s, err := report.Stand(ctx, a.stores.Tracker, now, oldestPictured); err == nil {
				if err := t.Draw(picture(s, now)...); err != nil {
					return err
				}
			}
		}
		return t.Draw()
	}
}

// picture is where files and documents stand, and what people should look at.
func picture(s report.Status, now time.Time) []string {
	part := func(name string, counts []report.Count) string {
		if len(counts) == 0 {
			return name + ": none yet"
		}
		var parts []string
		for _, c := range counts {
			parts = append(parts, fmt.Sprintf("%s %s %d", c.Phase, c.Status, c.Count))
		}
		return name + ": " + strings.Join(parts, ", ")
	}
	lines := []string{part("files", s.Files), part("documents", s.Documents),
		fmt.Sprintf("last %d minutes: %.1f files a minute, %.1f documents a minute", s.Rates.Minutes, s.Rates.Files, s.Rates.Documents)}
	if n := len(s.Suspended); n > 0 {
		lines = append(lines, fmt.Sprintf("%d sources are suspended: see tributary sources", n))
	}
	if s.Insertion != "" {
		lines = append(lines, "insertion has stopped for all centres: "+s.Insertion)
	}
	if s.Pending > 0 {
		lines = append(lines, fmt.Sprintf("%d files pending, the oldest:", s.Pending))
	}
	for _, f := range s.Oldest {
		lines = append(lines, fmt.Sprintf("  %s/%s  %s %s for %s  %s", f.Action, f.File, f.Phase, f.Status, now.Sub(f.Since).Round(time.Second), f.Reason))
	}
	return lines
}

// showLine shows on one line how far something long is: in the place of the line
// before on a terminal, from which no text takes it away again; elsewhere on a line
// of its own.
func showLine(w io.Writer, text string) {
	t := screen.On(w)
	switch {
	case t == nil && text != "":
		fmt.Fprintln(w, text)
	case t != nil && text != "":
		_ = t.Draw(text) // as with what is printed: a terminal that is gone ends the process
	case t != nil:
		_ = t.Draw()
	}
}
