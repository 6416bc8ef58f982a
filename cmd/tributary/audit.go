package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/asof"
	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/web/client"
)

func newAudit(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "List who ordered what, when and why",
		Long: "List what people did, the newest first: about sources, centres, files, documents, dead letters, replays, reference\n" +
			"tables and members, which are events with an author, and about accounts, tokens (token:NAME), links that log in once\n" +
			"(link:WHO MADE IT) and links of centres (centre-link:NUMBER). What the configuration changes has no author: tributary\n" +
			"sources history.",
		Args: cobra.NoArgs,
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	var f audit.Filter
	cmd.Flags().StringVar(&f.By, "by", "", "who: an account, token:NAME, or USER@HOST of a command")
	cmd.Flags().StringVar(&f.Kind, "kind", "", "what it is about: "+strings.Join(audit.Kinds(), ", "))
	cmd.Flags().StringVar(&f.Contains, "q", "", "part of what it is about, such as a file's name; capitals don't matter")
	cmd.Flags().Var(momentValue{&f.Since}, "since", "only what was ordered then or later: "+asof.Moments)
	cmd.Flags().Var(momentValue{&f.Until}, "until", "only what was ordered before: written as --since")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "at most so many; 0: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.Limit < 0 {
			return usagef("--limit must be 0 or more")
		}
		if err := f.Check(); err != nil {
			return usage(err)
		}
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, audit.Header(), func(ctx context.Context, r *client.Client, each func(audit.Order) error) error {
				return r.Audit(ctx, f, each)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			return c.list(*output, audit.Header(), func(row func(any, ...string) error) error {
				return audit.Reader{Tracker: s.Tracker, Control: s.Control}.Each(cmd.Context(), f, func(o audit.Order) error { return row(o, o.Cells()...) })
			})
		})
	}
	return cmd
}
