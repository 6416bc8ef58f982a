package main

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"tributary/consumers/insert"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/sql/warehouse"
)

func newStatus(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where everything stands",
		Long:  "Files and documents by phase and status, the files that have waited longest and for what, the latest session, which sources are suspended and why, what went on in the last minutes, what waits to be published or can't be, whether positions that contradict each other have stopped insertion, whether a low disk keeps files from being fetched, and whether the embedded broker's log is too large (both as this machine sees it).",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	past := asOfFlags(cmd)
	oldest := cmd.Flags().Int("oldest", 10, "how many of the files that wait to show")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		stand := func(cfg config.Config, q pg.Querier, at *time.Time, outboxes map[string]*pgxpool.Pool) error {
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
				if s.Outboxes, err = report.ReadOutboxes(cmd.Context(), outboxes); err != nil {
					return err
				}
				if s.LogAlarm, err = logAlarm(cfg); err != nil {
					return err
				}
				if s.Insertion, err = insert.Stopped(cmd.Context(), outboxes[warehouse.Schema]); err != nil {
					return err
				}
			}
			if *output == report.JSON {
				return writeJSON(c.stdout, []report.Status{s})
			}
			return s.WriteText(c.stdout, now)
		}
		if past.asOf == "" {
			return c.withStores(cmd.Context(), need{Postgres: true}, func(cfg config.Config, s *stores) error {
				return stand(cfg, s.Tracker, nil, map[string]*pgxpool.Pool{control.Schema: s.Control, warehouse.Schema: s.Warehouse})
			})
		}
		return c.withTrackerAt(cmd.Context(), past, asof.Scope{}, *output, func(cfg config.Config, q pg.Querier, at *time.Time) error {
			return stand(cfg, q, at, nil)
		})
	}
	return cmd
}
