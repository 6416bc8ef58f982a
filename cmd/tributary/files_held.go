package main

import (
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/web/client"
	"tributary/web/order"
)

func newFilesHeld(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "held", Short: "List the files that are held",
		Long: "List the files that are held, by whom and why, those held longest first: at most 10,000.",
		Args: cobra.NoArgs,
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				return c.listHeld(*output, func(each func(order.HeldFile) error) error { return r.Held(cmd.Context(), each) })
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			return c.listHeld(*output, func(each func(order.HeldFile) error) error { return order.Held(cmd.Context(), s.Control, each) })
		})
	}
	return cmd
}

// listHeld lists held files.
func (c *cli) listHeld(output string, held func(each func(order.HeldFile) error) error) error {
	return c.list(output, []string{"file", "since", "by", "reason"}, func(row func(any, ...string) error) error {
		return held(func(f order.HeldFile) error { return row(f, f.File, f.Since.Format(time.RFC3339), f.By, f.Reason) })
	})
}
