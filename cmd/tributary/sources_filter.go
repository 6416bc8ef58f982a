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
	"tributary/web/client"
)

func newSourcesTestFilter(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test-filter SOURCE [filters=LIST]", Short: "Say what a source's filters do to what its last listings showed",
		Long: "Say for each filter of a source, or of the list that is given as for tributary sources edit, for how many entries of its\n" +
			"last listings it decides, and which is the first of them. The first filter that fits an entry decides, and what none\n" +
			"fits is taken. Nothing is changed. Of what is excluded already, the first poll.max_ignored names are known.",
		Args: cobra.RangeArgs(1, 2),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 && !strings.HasPrefix(args[1], "filters=") {
			return usagef("%q gives no filters: write filters='[{exclude: \"*_test.zip\"}]'", args[1])
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				found, err := filteredByServer(cmd.Context(), r, args[0], args[1:])
				if err != nil {
					return err
				}
				return c.tellFiltered(*output, found)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			found, err := s.filtered(cmd.Context(), args[0], args[1:])
			if err != nil {
				return err
			}
			return c.tellFiltered(*output, found)
		})
	}
	return cmd
}

// filtered is what the filters of a source do to what its last listings showed.
type filtered struct {
	source string
	counts []sources.Filtered
	more   int64 // that are not taken, and whose names are not kept
}

func (s *stores) filtered(ctx context.Context, id string, values []string) (filtered, error) {
	known, err := knownSources(ctx, s, []string{id})
	if err != nil {
		return filtered{}, err
	}
	src, err := config.ParseDefinition(known[0].Definition)
	if err != nil {
		return filtered{}, err
	}
	if len(values) > 0 {
		if src, err = s.sourceWith(ctx, known[0], values); err != nil {
			return filtered{}, err
		}
	}
	counts, err := sources.TestFilters(ctx, s.Control, src.ID, src.Filters)
	if err != nil {
		return filtered{}, err
	}
	total, first, err := control.IgnoredOf(ctx, s.Control, src.ID, 0, 0)
	return filtered{src.ID, counts, total - int64(len(first))}, err
}

func (c *cli) tellFiltered(output string, found filtered) error {
	if found.more > 0 {
		fmt.Fprintf(c.stderr, "%s shows %d more that are not taken, whose names are not kept (poll.max_ignored)\n", found.source, found.more)
	}
	return c.list(output, []string{"filter", "taken", "entries", "first"}, func(row func(any, ...string) error) error {
		for _, f := range found.counts {
			if err := row(f, cmp.Or(f.Filter, "none fits"), fmt.Sprint(f.Taken), fmt.Sprint(f.Entries), f.First); err != nil {
				return err
			}
		}
		return nil
	})
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
