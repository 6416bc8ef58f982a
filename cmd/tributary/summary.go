package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"tributary/internal/screen"
	"tributary/queries/report"
	"tributary/queries/standing"
	"tributary/schemas"
	"tributary/sql/control"
)

// summary prints how the round ended: where everything stands, and what kept
// it from being whole. It tells whether every source that is available or suspended
// was listed, but for those outside of their windows, and every file has reached an end; with strict, one that is no failure.
func (c *cli) summary(ctx context.Context, a *app, r *round, strict bool) (bool, error) {
	now := time.Now()
	s, err := report.Stand(ctx, a.stores.Tracker, now, 10)
	if err != nil {
		return false, err
	}
	if err := s.WriteText(c.stdout, now); err != nil {
		return false, err
	}
	ok := true
	// Without a session nothing was listed: all sources are suspended, or there are none.
	unlisted, err := control.Unlisted(ctx, a.stores.Control, cmp.Or(r.session, uuid.Nil.String()), now)
	if err != nil {
		return false, err
	}
	for _, l := range unlisted {
		if l.Opens != nil {
			fmt.Fprintf(c.stdout, "source %s was not listed: it is outside of its window, which opens at %s\n", l.Source, l.Opens.UTC().Format(time.RFC3339))
			continue
		}
		ok = false
		if l.Postponed > 0 {
			fmt.Fprintf(c.stdout, "source %s shows %d more new or changed files than %s\n", l.Source, l.Postponed, standing.Left(l.Limit, l.Definition, *cmp.Or(l.EndedAt, &now)))
		}
		if l.State == "complete" || l.State == "minimal" {
			continue
		}
		fmt.Fprintf(c.stdout, "source %s was not listed whole: %s %s %s\n", l.Source, l.State, l.Exception, screen.Line(l.Message))
	}
	pending, err := control.Pending(ctx, a.stores.Control)
	if err != nil {
		return false, err
	}
	if pending.Any() {
		ok = false
		fmt.Fprintf(c.stdout, "unfinished: %s\n", pending)
	}
	if failed := failedFiles(s); strict && failed > 0 {
		ok = false
		fmt.Fprintf(c.stdout, "failed: %d files, of this round or before: tributary files --status failed lists them\n", failed)
	}
	fmt.Fprintf(c.stdout, "done in %.1f s; data in %s\n", now.Sub(r.started).Seconds(), a.cfg.DataDir)
	return ok, nil
}

// failedFiles is how many files stand failed.
func failedFiles(s report.Status) (failed int64) {
	for _, c := range s.Files {
		if c.Status == string(schemas.Failed) {
			failed += c.Count
		}
	}
	return failed
}
