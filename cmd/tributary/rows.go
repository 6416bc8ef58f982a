package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/client"
)

// row is what a list of the tracker has one of for each line.
type row interface{ Cells() []string }

// lister lists the tracker's rows of one kind.
type lister[T row] func(ctx context.Context, q pg.Querier, each func(T) error) error

// listTracker runs a list and writes its rows as they come.
func listTracker[T row](ctx context.Context, c *cli, format string, header []string, list lister[T]) error {
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		return c.list(format, header, func(row func(any, ...string) error) error {
			return list(ctx, s.Tracker, func(v T) error { return row(v, v.Cells()...) })
		})
	})
}

// filterFlags are the flags that narrow a list.
func filterFlags(cmd *cobra.Command) *report.Filter {
	f := &report.Filter{}
	cmd.Flags().StringVar(&f.Action, "action", "", "add, edit or delete")
	cmd.Flags().StringVar(&f.Centre, "centre", "", "the producing centre, capitals don't matter")
	cmd.Flags().StringVar(&f.Phase, "phase", "", "where they stand, such as xsd")
	cmd.Flags().StringVar(&f.Status, "status", "", "pending, running, done, cancelled or failed")
	cmd.Flags().StringVar(&f.Exception, "exception", "", "the stable name of what went wrong")
	cmd.Flags().StringVar(&f.Session, "session", "", "the session's number or id")
	cmd.Flags().StringVar(&f.Contains, "q", "", "part of the file's name, capitals don't matter")
	cmd.Flags().StringVar(&f.SHA256, "sha256", "", "how the hash of a version of the file begins, at least 6 hex digits")
	cmd.Flags().Var(momentValue{&f.Since}, "since", "only what changed last then or later: "+asof.Moments)
	cmd.Flags().Var(momentValue{&f.Until}, "until", "only what changed last before: written as --since")
	cmd.Flags().BoolVar(&f.Waiting, "waiting", false, "only what has not ended; with --until 2h, what nothing was heard of for 2 hours")
	cmd.Flags().StringVar(&f.QC, "qc", "", "only documents that stand so in quality control, and their files: "+strings.Join(report.Qualities(), ", "))
	cmd.Flags().StringVar(&f.Sort, "sort", report.ByName, "name; or newest or oldest: by the last change")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most so many; 0: all")
	return f
}

// momentValue is a flag that is a moment, see asof.Moments.
type momentValue struct{ at *time.Time }

// String is the moment as flags show their default.
func (m momentValue) String() string {
	if m.at == nil || m.at.IsZero() {
		return ""
	}
	return m.at.Format(time.RFC3339Nano)
}

// Set reads a moment.
func (m momentValue) Set(text string) error {
	at, err := asof.ParseMoment(text, now())
	*m.at = at
	return err
}

// Type is the word for a moment in help texts.
func (m momentValue) Type() string { return "moment" }

// having gives those that have each of the texts.
func having[T interface{ Has(texts ...string) bool }](texts []string, each func(T) error) func(T) error {
	return func(v T) error {
		if !v.Has(texts...) {
			return nil
		}
		return each(v)
	}
}

// finder is a command that lists what has texts in it, by the stores or a server.
func finder[T interface {
	row
	Has(texts ...string) bool
}](c *cli, cmd *cobra.Command, header []string, list lister[T], byServer func(r *client.Client, ctx context.Context, each func(T) error) error) *cobra.Command {
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, header, func(ctx context.Context, r *client.Client, each func(T) error) error {
				return byServer(r, ctx, having(args, each))
			})
		}
		return listTracker(cmd.Context(), c, *output, header, func(ctx context.Context, q pg.Querier, each func(T) error) error {
			return list(ctx, q, having(args, each))
		})
	}
	return cmd
}
