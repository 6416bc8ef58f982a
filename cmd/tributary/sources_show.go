package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/queries/standing"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

func newSourcesShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show SOURCE", Short: "Show how a source is defined, by whom, how it stands, when it is polled next, and what its last check found",
		Long: "Show how a source is defined, by whom, how it stands, and the next five times at which it is polled, if all goes well and\n" +
			"nothing changes, in its time zone and UTC: intervals are spread around them (schedule.jitter). The first poll of a source that is new, or reached in another way,\n" +
			"is its check: each step is shown with its time, and what to do where it failed. So is what a poll met that failed.",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				s, err := r.Standing(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.tell(*output, s.Standing, func(w io.Writer) error {
					_, err := io.WriteString(w, screen.Text(s.Text))
					return err
				})
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := knownSources(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			is, err := standing.Of(cmd.Context(), s.Control, all[0], now())
			if err != nil {
				return err
			}
			return c.tell(*output, is.Fields(), func(w io.Writer) error {
				text, err := is.Text(cmd.Context(), s.Tracker)
				if err != nil {
					return err
				}
				_, err = io.WriteString(w, text)
				return err
			})
		})
	}
	return cmd
}

func newSourcesExport(c *cli) *cobra.Command {
	return c.exporter(&cobra.Command{
		Use: "export [SOURCE …]", Short: "Write sources as a file that the configuration or apply reads",
		Long: "Write how all sources (or those named) are defined now, as YAML below sources: for the configuration, or for tributary\n" +
			"sources apply. Secrets are references, and relative paths have become absolute.",
		Args: cobra.ArbitraryArgs,
	}, order.Sources, sources.Export)
}

// knownSources are those that control has and that are not removed, by id, or those
// named of them.
func knownSources(ctx context.Context, s *stores, ids []string) ([]control.Standing, error) {
	all, err := sources.Present(ctx, s.Control, ids)
	if sources.Refused(err) {
		return nil, usage(err)
	}
	return all, err
}

func newSourcesHistory(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history SOURCE", Short: "List how a source was from time to time, who changed it, and why",
		Long: "List how a source was from time to time: its state, who changed it and why, and which keys of its definition changed.\n" +
			"With -o json each has the whole definition. From the tracker, table source_revision.",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, report.SourceRevisionHeader(), func(ctx context.Context, r *client.Client, each func(report.SourceRevision) error) error {
				return r.SourceRevisions(ctx, args[0], each)
			})
		}
		return listTracker(cmd.Context(), c, *output, report.SourceRevisionHeader(), func(ctx context.Context, q pg.Querier, each func(report.SourceRevision) error) error {
			return report.SourceRevisions(ctx, q, args[0], each)
		})
	}
	return cmd
}
