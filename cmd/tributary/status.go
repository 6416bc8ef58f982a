package main

import (
	"context"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"tributary/consumers/insert"
	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/sql/warehouse"
	"tributary/web/client"
)

func newStatus(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where everything stands",
		Long:  "Files and documents by phase and status, the files that have waited longest and for what, how far downloads are that take long, the latest session, which sources are suspended and why, which are late, what went on in the last minutes, what waits to be published or can't be, whether positions that contradict each other have stopped insertion, whether a low disk keeps files from being fetched, and whether the embedded broker's log is too large (both as this machine sees it).",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	past, server := asOfFlags(cmd), addServerFlags(cmd)
	oldest := cmd.Flags().Int("oldest", 10, "how many of the files that wait to show, and of the downloads")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		stand := func(q pg.Querier, at *time.Time, live *stores) error {
			now := time.Now()
			if at != nil {
				now = *at
			}
			s, err := expect.Stand(cmd.Context(), q, now, *oldest)
			if err != nil {
				return err
			}
			if s.AsOf = at; at == nil {
				if err := live.beside(cmd.Context(), &s); err != nil {
					return err
				}
			}
			return c.tell(*output, s, func(w io.Writer) error { return s.WriteText(w, now) })
		}
		if server.given() {
			return c.askServer(server, past, func(r *client.Client) error {
				s, err := r.Status(cmd.Context(), *oldest)
				if err != nil {
					return err
				}
				now := time.Now()
				if s.AsOf != nil {
					now = *s.AsOf
				}
				return c.tell(*output, s, func(w io.Writer) error { return s.WriteText(w, now) })
			})
		}
		if past.asOf == "" {
			return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error { return stand(s.Tracker, nil, s) })
		}
		return c.withTrackerAt(cmd.Context(), past, asof.Scope{}, *output, func(q pg.Querier, at *time.Time) error { return stand(q, at, nil) })
	}
	return cmd
}

// beside adds to where everything stands what is not in the tracker.
func (s *stores) beside(ctx context.Context, status *report.Status) (err error) {
	status.Dormant = dormant(s.cfg) // as the disk is now
	if status.Outboxes, err = report.ReadOutboxes(ctx, map[string]*pgxpool.Pool{control.Schema: s.Control, warehouse.Schema: s.Warehouse}); err != nil {
		return err
	}
	if status.LogAlarm, err = logAlarm(s.cfg); err != nil {
		return err
	}
	status.Insertion, err = insert.Stopped(ctx, s.Warehouse)
	return err
}
