package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/sql/control"
)

func newSourcesTestFilter(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test-filter SOURCE [filters=LIST]", Short: "Say what a source's filters do to what its last listings showed",
		Long: "Say for each filter of a source, or of the list that is given as for tributary sources edit, for how many entries of its\n" +
			"last listings it decides, and which is the first of them. The first filter that fits an entry decides, and what none\n" +
			"fits is taken. Nothing is changed. Of what is excluded already, the first poll.max_ignored names are known.",
		Args: cobra.RangeArgs(1, 2),
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 && !strings.HasPrefix(args[1], "filters=") {
			return usagef("%q gives no filters: write filters='[{exclude: \"*_test.zip\"}]'", args[1])
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			known, err := knownSources(cmd.Context(), s, args[:1])
			if err != nil {
				return err
			}
			src, err := config.ParseDefinition(known[0].Definition)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				if src, err = s.sourceWith(cmd.Context(), known[0], args[1:]); err != nil {
					return err
				}
			}
			counts, err := sources.TestFilters(cmd.Context(), s.Control, src.ID, src.Filters)
			if err != nil {
				return err
			}
			total, first, err := control.IgnoredOf(cmd.Context(), s.Control, src.ID, 0, 0)
			if err != nil {
				return err
			}
			if more := total - int64(len(first)); more > 0 {
				fmt.Fprintf(c.stderr, "%s shows %d more that are not taken, whose names are not kept (poll.max_ignored)\n", src.ID, more)
			}
			return c.list(*output, []string{"filter", "taken", "entries", "first"}, func(row func(any, ...string) error) error {
				for _, f := range counts {
					if err := row(f, cmp.Or(f.Filter, "none fits"), fmt.Sprint(f.Taken), fmt.Sprint(f.Entries), f.First); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

// sourceWith is a source with other values than it has.
func (s *stores) sourceWith(ctx context.Context, st control.Standing, values []string) (src config.Source, err error) {
	r, err := sourceRegistry(s.cfg)
	if err != nil {
		return src, err
	}
	err = pg.InTx(ctx, s.Control, func(tx pgx.Tx) error {
		src, err = r.With(ctx, tx, st.ID, st.Definition, "merge", values)
		return err
	})
	if sources.Refused(err) {
		err = usage(err)
	}
	return src, err
}
