package main

import (
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/internal/report"
)

func newStatus(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where everything stands",
		Long:  "Files and documents by phase and status, the files that have waited longest and for what, the latest session, and what went on in the last minutes.",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	oldest := cmd.Flags().Int("oldest", 10, "how many of the files that wait to show")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withTracker(cmd.Context(), func(q pg.Querier) error {
			now := time.Now()
			s, err := report.Stand(cmd.Context(), q, now, *oldest)
			if err != nil {
				return err
			}
			if *output == report.JSON {
				return writeJSON(c.stdout, []report.Status{s})
			}
			return s.WriteText(c.stdout, now)
		})
	}
	return cmd
}
