package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/report"
)

// row is what a list of the tracker has one of for each line.
type row interface{ Cells() []string }

// lister lists the tracker's rows of one kind.
type lister[T row] func(ctx context.Context, q pg.Querier, each func(T) error) error

// listTracker runs a list and writes its rows as they come.
func listTracker[T row](ctx context.Context, c *cli, format string, header []string, list lister[T]) error {
	return c.withTracker(ctx, func(q pg.Querier) error {
		out, err := report.NewOutput(c.stdout, format, header...)
		if err != nil {
			return usage(err)
		}
		err = list(ctx, q, func(v T) error { return out.Row(v, v.Cells()...) })
		return errors.Join(err, out.Close())
	})
}

// withTracker opens Postgres for a command that asks the tracker.
func (c *cli) withTracker(ctx context.Context, fn func(q pg.Querier) error) error {
	return c.withStores(ctx, need{Postgres: true}, func(_ config.Config, s *stores) error {
		return fn(s.Tracker)
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
