package main

import (
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/report"
)

func newStatus(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where everything stands",
		Long:  "Files and documents by phase and status, the files that have waited longest and for what, the latest session, what went on in the last minutes, and whether a low disk keeps files from being fetched (as this machine sees it).",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	oldest := cmd.Flags().Int("oldest", 10, "how many of the files that wait to show")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withStores(cmd.Context(), need{Postgres: true}, func(cfg config.Config, stores *stores) error {
			now := time.Now()
			s, err := report.Stand(cmd.Context(), stores.Tracker, now, *oldest)
			if err != nil {
				return explainAbsence(err)
			}
			s.Dormant = dormant(cfg)
			if *output == report.JSON {
				return writeJSON(c.stdout, []report.Status{s})
			}
			return s.WriteText(c.stdout, now)
		})
	}
	return cmd
}
