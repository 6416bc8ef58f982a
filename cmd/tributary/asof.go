package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/client"
)

// pastFlags are those of a question that can be asked of the past.
type pastFlags struct {
	asOf      string
	maxEvents int64
	given     func(flag string) (value string, changed bool)
}

func asOfFlags(cmd *cobra.Command) *pastFlags {
	f := &pastFlags{}
	cmd.Flags().StringVar(&f.asOf, "as-of", "", "answer from the history what was so at this moment: "+asof.Moments)
	maxEventsFlag(cmd, &f.maxEvents)
	f.given = func(flag string) (string, bool) { return cmd.Flag(flag).Value.String(), cmd.Flag(flag).Changed }
	return f
}

// ofServer is a client that asks a server about the moment that is given, if one is; how
// far its history goes is said as withTrackerAt does.
func (f *pastFlags) ofServer(c *cli, r *client.Client) (*client.Client, error) {
	if f == nil || f.asOf == "" {
		return r, nil
	}
	if _, changed := f.given("max-events"); changed {
		return nil, errServersLimit()
	}
	at, err := moment("as-of", f.asOf)
	if err != nil {
		return nil, err
	}
	w := c.stderr
	if format, _ := f.given("output"); format == report.Table {
		w = c.stdout
	}
	return r.At(at, func(text string) { fmt.Fprintln(w, text) }), nil
}

// errServersLimit refuses a limit where a server is asked.
func errServersLimit() error {
	return usagef("--max-events goes without --server, which has a limit of its own")
}

func maxEventsFlag(cmd *cobra.Command, value *int64) {
	cmd.Flags().Int64Var(value, "max-events", asof.DefaultMaxEvents, "of the past: refuse to read more events than that for one answer")
}

// moment reads one given on the command line.
func moment(flag, text string) (time.Time, error) {
	at, err := asof.ParseMoment(text, now())
	if err != nil {
		return at, usagef("--%s: %w", flag, err)
	}
	return at, nil
}

// withTrackerAt asks the tracker, or, if a moment is given, the past; then at
// is the moment, which was said to people: on stdout where a table follows.
func (c *cli) withTrackerAt(ctx context.Context, f *pastFlags, scope asof.Scope, format string, ask func(q pg.Querier, at *time.Time) error) error {
	if f.asOf == "" {
		return c.open(ctx, need{Postgres: true}, func(s *stores) error { return ask(s.Tracker, nil) })
	}
	at, err := moment("as-of", f.asOf)
	if err != nil {
		return err
	}
	return c.withPast(ctx, f.maxEvents, func(r *asof.Reader) error { return c.trackerAt(ctx, r, at, scope, format, ask) })
}

// trackerAt asks the past of a moment, which is said as withTrackerAt does.
func (c *cli) trackerAt(ctx context.Context, r *asof.Reader, at time.Time, scope asof.Scope, format string, ask func(q pg.Querier, at *time.Time) error) error {
	return r.At(ctx, at, scope, func(q pg.Querier, filled asof.Filled) error {
		w := c.stderr
		if format == report.Table {
			w = c.stdout
		}
		fmt.Fprintln(w, filled.Said(at))
		return ask(q, &at)
	})
}

// withPast opens what the past is read from.
func (c *cli) withPast(ctx context.Context, maxEvents int64, fn func(r *asof.Reader) error) error {
	if maxEvents <= 0 {
		return usagef("--max-events %d: allow at least one", maxEvents)
	}
	return c.open(ctx, need{Postgres: true, ClickHouse: true}, func(s *stores) error { return c.pastOf(s, maxEvents, fn) })
}

// pastOf is what the past is read from, of stores that are open.
func (c *cli) pastOf(s *stores, maxEvents int64, fn func(r *asof.Reader) error) error {
	p := &pastProgress{w: c.stderr, next: time.Now().Add(2 * time.Second)}
	defer p.end()
	return fn(&asof.Reader{History: s.ClickHouse, Postgres: s.Tracker, Writer: asof.Tracked, MaxEvents: maxEvents, Progress: p.report})
}

// pastProgress says how much of the past has been read, if that takes long: on
// one line of a terminal, elsewhere every ten seconds.
type pastProgress struct {
	w     io.Writer
	next  time.Time
	shown bool
}

func (p *pastProgress) report(done, all int64) {
	if done >= all {
		p.end()
		return
	}
	if time.Now().Before(p.next) {
		return
	}
	text := fmt.Sprintf("%d of %d events read", done, all)
	p.shown, p.next = true, time.Now().Add(10*time.Second)
	if screen.On(p.w) != nil {
		p.next = time.Now().Add(time.Second)
	}
	showLine(p.w, text)
}

// end takes the line away.
func (p *pastProgress) end() {
	if p.shown {
		showLine(p.w, "")
		p.shown = false
	}
}

// listTrackerAt is listTracker, of the past if a moment is given; stamp notes
// the moment in a row.
func listTrackerAt[T row](ctx context.Context, c *cli, f *pastFlags, scope asof.Scope, format string, header []string, list lister[T], stamp func(*T, *time.Time)) error {
	return c.withTrackerAt(ctx, f, scope, format, func(q pg.Querier, at *time.Time) error {
		dated := at != nil && (format == report.CSV || format == report.EscapedCSV)
		if dated {
			header = append(header, "as_of")
		}
		return c.list(format, header, func(row func(any, ...string) error) error {
			return list(ctx, q, func(v T) error {
				stamp(&v, at)
				cells := v.Cells()
				if dated {
					cells = append(cells, at.Format(time.RFC3339Nano))
				}
				return row(v, cells...)
			})
		})
	})
}
