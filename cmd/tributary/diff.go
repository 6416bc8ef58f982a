package main

import (
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/client"
)

// diffFlags are what diff is asked.
type diffFlags struct {
	from, to  string
	scope     asof.Scope
	limit     int
	maxEvents int64
}

func newDiff(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff --from TIME [--to TIME]",
		Short: "Say what changed between two moments",
		Long: "Say from the history what changed after one moment and up to another: files and documents that are new, that moved from\n" +
			"one phase, status and exception to another, whose version was replaced, and documents that are no longer shown. Counts\n" +
			"come first, then every change. Only files of which something was said in between are read.",
		Args: cobra.NoArgs,
	}
	f := &diffFlags{}
	output, server := outputFlag(cmd, report.Table, report.JSON), addServerFlags(cmd)
	cmd.Flags().StringVar(&f.from, "from", "", "the earlier moment: "+asof.Moments)
	cmd.Flags().StringVar(&f.to, "to", "0s", "the later moment; default now")
	cmd.Flags().StringVar(&f.scope.Name, "file", "", "the file's name; it may have * for any characters")
	cmd.Flags().StringVar(&f.scope.Centre, "centre", "", "the producing centre, capitals don't matter")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "list at most so many changes; 0: all")
	maxEventsFlag(cmd, &f.maxEvents)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from, to, err := f.moments()
		if err != nil {
			return err
		}
		tell := func(d asof.Comparison) error {
			if *output == report.JSON {
				return d.WriteJSON(cmd.Context(), c.stdout, f.limit)
			}
			return d.WriteText(cmd.Context(), c.stdout, f.limit)
		}
		if server.given() {
			if cmd.Flags().Changed("max-events") {
				return errServersLimit()
			}
			return c.askServer(server, nil, func(r *client.Client) error {
				d, err := r.Diff(cmd.Context(), from, to, f.scope)
				if err != nil {
					return err
				}
				return tell(d)
			})
		}
		return c.withPast(cmd.Context(), f.maxEvents, func(r *asof.Reader) error {
			if err := report.Known(cmd.Context(), r.Postgres, f.scope.Centre, ""); err != nil {
				return err
			}
			return r.Diff(cmd.Context(), from, to, f.scope, func(d *asof.Difference) error { return tell(d.Comparison()) })
		})
	}
	return cmd
}

func (f *diffFlags) moments() (from, to time.Time, err error) {
	if f.from == "" {
		return from, to, usagef("say from when: --from, %s", asof.Moments)
	}
	if from, err = moment("from", f.from); err != nil {
		return from, to, err
	}
	if to, err = moment("to", f.to); err != nil {
		return from, to, err
	}
	if !from.Before(to) {
		return from, to, usagef("--from %s is not before --to %s", f.from, f.to)
	}
	return from, to, nil
}
