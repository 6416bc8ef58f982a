package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/client"
)

// ignoredRow is an entry that nobody takes up, as -o json writes it.
type ignoredRow struct {
	Source string `json:"source"`
	control.Ignored
}

func newSourcesIgnored(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ignored [SOURCE …]",
		Short: "List what sources show and nobody takes up, and why",
		Long: "List the entries in the directories add, edit and delete of each source (or those named) that its last complete listing\n" +
			"showed and that are no files of ours, and why: directory, not_a_regular_file (a link, a device), line_unreadable\n" +
			"(a line of the listing that can't be parsed), not_zip (its name does not end in .zip), filtered (by the source's filter that\n" +
			"stands beside it), no_done_file (the file that says that it is whole, done_file, is not beside it yet), too_small, too_large,\n" +
			"too_young or too_old (by min_size, max_size, min_age or max_age), not_latest (latest_only: there is the later file that stands beside it) or\n" +
			"repeated (the name was listed before). The first poll.max_ignored of each source are kept. Files whose names break the convention are no such entries: tributary files lists them.",
		Args: cobra.ArbitraryArgs,
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				if len(args) == 0 {
					if err := r.Sources(ctx, func(s report.Source) error {
						args = append(args, s.Source)
						return nil
					}); err != nil {
						return err
					}
				}
				return c.listIgnored(*output, args, func(id string) (int64, []control.Ignored, error) { return r.Ignored(ctx, id) })
			})
		}
		return c.open(ctx, need{Postgres: true}, func(s *stores) error {
			chosen, err := chooseSources(ctx, s, args)
			if err != nil {
				return err
			}
			return c.listIgnored(*output, chosen, func(id string) (int64, []control.Ignored, error) {
				return control.IgnoredOf(ctx, s.Control, id, 0, 0)
			})
		})
	}
	return cmd
}

// listIgnored writes what each source shows and nobody takes up.
func (c *cli) listIgnored(output string, ids []string, of func(id string) (total int64, kept []control.Ignored, err error)) error {
	return c.list(output, []string{"source", "directory", "name", "reason", "rule"}, func(row func(any, ...string) error) error {
		for _, id := range ids {
			total, kept, err := of(id)
			if err != nil {
				return err
			}
			for _, e := range kept {
				if err := row(ignoredRow{id, e}, id, e.Directory, e.Name, e.Reason, e.Rule); err != nil {
					return err
				}
			}
			if more := total - int64(len(kept)); more > 0 {
				fmt.Fprintf(c.stderr, "%s shows %d more, whose names are not kept (poll.max_ignored)\n", id, more)
			}
		}
		return nil
	})
}
