package main

import (
	"context"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/report"
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
	cmd.Flags().StringVar(&f.Session, "session", "", "the session's id")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most so many; 0: all")
	return f
}
