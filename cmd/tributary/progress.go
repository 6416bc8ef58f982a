package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tributary/queries/report"
	"tributary/sql/control"
)

// showProgress shows once a second, on one line of a terminal, how many files
// and documents stand in each phase; elsewhere nothing, since the log tells
// what happens.
func (a *app) showProgress(w io.Writer) func(context.Context) error {
	return func(ctx context.Context) error {
		if !isTerminal(w) {
			return nil
		}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				fmt.Fprint(w, "\r\x1b[K")
				return nil
			case <-tick.C:
				// Without the tracker's database there is nothing to show, and
				// the log says why.
				if s, err := report.Stand(ctx, a.stores.Tracker, time.Now(), 0); err == nil {
					fmt.Fprint(w, "\r\x1b[K"+progressLine(s))
				}
			}
		}
	}
}

// progressLine is where files and documents stand, on one line.
func progressLine(s report.Status) string {
	part := func(name string, counts []report.Count) string {
		var parts []string
		for _, c := range counts {
			parts = append(parts, fmt.Sprintf("%s %s %d", c.Phase, c.Status, c.Count))
		}
		return name + ": " + strings.Join(parts, ", ")
	}
	return part("files", s.Files) + "; " + part("documents", s.Documents)
}

// summary prints how the round ended: where everything stands, and what kept
// it from being whole. It tells whether every available source was listed and
// every file has reached an end.
func (c *cli) summary(ctx context.Context, a *app, r *round) (bool, error) {
	now := time.Now()
	s, err := report.Stand(ctx, a.stores.Tracker, now, 10)
	if err != nil {
		return false, err
	}
	if err := s.WriteText(c.stdout, now); err != nil {
		return false, err
	}
	ok := true
	if r.session != "" {
		unlisted, err := control.Unlisted(ctx, a.stores.Control, r.session)
		if err != nil {
			return false, err
		}
		for _, l := range unlisted {
			ok = false
			if l.Postponed > 0 {
				fmt.Fprintf(c.stdout, "source %s shows %d more new or changed files than one poll takes up (poll.max_new): the next polls take up the rest\n", l.Source, l.Postponed)
			}
			if l.State == "complete" {
				continue
			}
			fmt.Fprintf(c.stdout, "source %s was not listed whole: %s %s %s\n", l.Source, l.State, l.Exception, report.Plain(l.Message))
		}
	}
	pending, err := control.Pending(ctx, a.stores.Control)
	if err != nil {
		return false, err
	}
	if pending.Any() {
		ok = false
		fmt.Fprintf(c.stdout, "unfinished: %s\n", pending)
	}
	fmt.Fprintf(c.stdout, "done in %.1f s; data in %s\n", now.Sub(r.started).Seconds(), a.cfg.DataDir)
	return ok, nil
}
