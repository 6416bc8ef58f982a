package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
		Use: "test-filter SOURCE [KEY=VALUE...]", Short: "Say what a source's filters, and other keys that leave files, do to what its last listings showed",
		Long: "Say for each filter of a source, and for its min_size, max_size, max_age, latest_only, done_file and min_age, for how many\n" +
			"entries of its last listings it decides, and which is the first of them: as they are, or with other values, given as for\n" +
			"tributary sources edit. The first filter that fits an entry decides, and what none excludes is left as a poll would leave\n" +
			"it: as if all of it were new, and now. Beside is the later file for which the first is left, or the done-file for which\n" +
			"it waits. Nothing is changed. Of what is not taken already, the first poll.max_ignored names are known.",
		Args: cobra.MinimumNArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, value := range args[1:] {
			if key, _, _ := strings.Cut(value, "="); !slices.Contains(triedKeys(), key) {
				return usagef("%q gives none of the keys that are tried (%s): write min_size=1kB, or filters='[{exclude: \"*_test.zip\"}]'", value, strings.Join(triedKeys(), ", "))
			}
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

// triedKeys are the keys whose values can be tried.
func triedKeys() []string {
	return []string{"filters", "min_size", "max_size", "min_age", "max_age", "latest_only", "done_file"}
}

// filtered is what the filters of a source, and other keys, do to what its last listings showed.
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
	r, err := sourceRegistry(s.cfg)
	if err != nil {
		return filtered{}, err
	}
	if len(values) > 0 {
		if src, err = s.sourceWith(ctx, r, known[0], values); err != nil {
			return filtered{}, err
		}
	}
	counts, err := r.TestFilters(ctx, s.Control, src)
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
	if slices.ContainsFunc(found.counts, func(f sources.Filtered) bool { return f.Unknown }) {
		fmt.Fprintln(c.stderr, "So it isn't known which files have their done-file beside them, and none is left for that: raise poll.max_ignored to have more names kept")
	}
	return c.list(output, []string{"filter", "taken", "entries", "first", "beside"}, func(row func(any, ...string) error) error {
		for _, f := range found.counts {
			if err := row(f, cmp.Or(f.Filter, "none fits"), fmt.Sprint(f.Taken), fmt.Sprint(f.Entries), f.First, f.Beside); err != nil {
				return err
			}
		}
		return nil
	})
}

// sourceWith is a source with other values than it has.
func (s *stores) sourceWith(ctx context.Context, r sources.Registry, st control.Standing, values []string) (src config.Source, err error) {
	err = pg.InTx(ctx, s.Control, func(tx pgx.Tx) error {
		src, err = r.With(ctx, tx, st.ID, st.Definition, "merge", values)
		return err
	})
	if sources.Refused(err) {
		err = usage(err)
	}
	return src, err
}
