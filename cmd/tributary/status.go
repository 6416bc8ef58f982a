package main

import (
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/asof"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/report"
)

func newStatus(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where everything stands",
		Long:  "Files and documents by phase and status, the files that have waited longest and for what, the latest session, what went on in the last minutes, whether a low disk keeps files from being fetched, and whether the embedded broker's log is too large (both as this machine sees it).",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	past := asOfFlags(cmd)
	oldest := cmd.Flags().Int("oldest", 10, "how many of the files that wait to show")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withTrackerAt(cmd.Context(), past, asof.Scope{}, *output, func(cfg config.Config, q pg.Querier, at *time.Time) error {
			now := time.Now()
			if at != nil {
				now = *at
			}
			s, err := report.Stand(cmd.Context(), q, now, *oldest)
			if err != nil {
				return err
			}
			if s.AsOf = at; at == nil {
				s.Dormant = dormant(cfg) // as the disk is now
				if s.LogAlarm, err = logAlarm(cfg); err != nil {
					return err
				}
			}
			if *output == report.JSON {
				return writeJSON(c.stdout, []report.Status{s})
			}
			return s.WriteText(c.stdout, now)
		})
	}
	return cmd
}
