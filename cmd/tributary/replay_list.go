package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/screen"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

func newReplayList(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List replays, the newest first",
		Long: "List replays, the newest first, with how far each is: what is waiting, under way, complete, failed, and refused, in\n" +
			"files or, from data, in centres. States: running, stopped (until somebody resumes it), done (the warehouse has\n" +
			"applied all that came of it).",
		Args: cobra.NoArgs,
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	limit := cmd.Flags().Int("limit", 100, "at most so many; 0: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 {
			return usagef("--limit must not be negative")
		}
		if server.given() {
			if *limit == 0 || *limit > client.MostReplays {
				return usagef("with --server --limit is from 1 to %d", client.MostReplays)
			}
			return listServer(cmd.Context(), c, server, nil, *output, replay.StatusHeader(), func(ctx context.Context, r *client.Client, each func(*replay.Status) error) error {
				return r.Replays(ctx, *limit, each)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			return c.list(*output, replay.StatusHeader(), func(row func(any, ...string) error) error {
				return s.replayed(cmd.Context(), *limit, func(status *replay.Status) error { return row(status, status.Cells()...) })
			})
		})
	}
	return cmd
}

// replayed gives replays, the newest first, at most so many; 0: all.
func (s *stores) replayed(ctx context.Context, limit int, each func(*replay.Status) error) error {
	runs, err := control.ReplayRuns(ctx, s.Control, limit)
	for i := range runs {
		var status *replay.Status
		if status, err = replay.ReadStatus(ctx, s.Control, &runs[i]); err != nil {
			break
		}
		if err = each(status); err != nil {
			break
		}
	}
	return err
}

// toldReplay is a replay, and how its files ended.
func (s *stores) toldReplay(ctx context.Context, name string) (*replay.Status, error) {
	r, err := control.ReadReplayRun(ctx, s.Control, name)
	if err != nil {
		return nil, err
	}
	status, err := replay.ReadStatus(ctx, s.Control, &r)
	if err != nil {
		return nil, err
	}
	return status, status.Explain(ctx, s.Control)
}

func newReplayShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one replay: what chose its files, and how they have ended",
		Long: "Show one replay, by its number, its run's id or its shadow's name: who asked for it, why, what chose its files, how far it is, and why\n" +
			"files failed or were refused.",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				status, err := r.Replay(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.tell(*output, status, status.WriteText)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			status, err := s.toldReplay(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.tell(*output, status, status.WriteText)
		})
	}
	return cmd
}

func newReplayStop(c *cli) *cobra.Command {
	return newReplayChange(c, "stop", "Let a replay request nothing more until it is resumed",
		"Let a replay, named by its number or its run's id, request nothing more until it is resumed. What is under way goes on\nto its end.",
		func(ctx context.Context, m *replay.Manager, name, reason string) (control.ReplayRun, bool, error) {
			return m.Stop(ctx, name, requester(), reason)
		})
}

func newReplayResume(c *cli) *cobra.Command {
	return newReplayChange(c, "resume", "Let a replay that was stopped go on",
		"Let a replay that was stopped, named by its number or its run's id, go on with what it has left.",
		func(ctx context.Context, m *replay.Manager, name, reason string) (control.ReplayRun, bool, error) {
			return m.Resume(ctx, name, requester(), reason)
		})
}

func newReplayChange(c *cli, verb, short, long string, change func(ctx context.Context, m *replay.Manager, name, reason string) (control.ReplayRun, bool, error)) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " RUN", Short: short, Long: long, Args: cobra.ExactArgs(1)}
	reason, server := cmd.Flags().String("reason", "", "why, for those who read it later"), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.orderReplay(cmd.Context(), server, "text", verb, args[0], *reason)
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			codec, err := schemas.NewCodec()
			if err != nil {
				return err
			}
			r, changed, err := change(cmd.Context(), s.replays(codec), args[0], *reason)
			if err != nil {
				return err
			}
			if changed {
				_, err = fmt.Fprintf(c.stdout, "replay %d is %s\n", r.Number, r.State)
				return err
			}
			return fmt.Errorf("replay %d is %s, since %s by %s: there is nothing to %s", r.Number, r.State, r.ChangedAt.UTC().Format(time.RFC3339), r.ChangedBy, verb)
		})
	}
	return cmd
}

// orderReplay gives an order about a replay to a server, and says what became of it.
func (c *cli) orderReplay(ctx context.Context, server *serverFlags, output, verb, name, reason string) error {
	return c.askServer(server, nil, func(r *client.Client) error {
		out, err := r.Order(ctx, order.Replays, name, verb, client.Wish{Reason: reason})
		if err != nil {
			return err
		}
		if !out.Done {
			return errors.New(out.Detail)
		}
		return c.tell(output, out, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "replay %s: %s\n", screen.Line(out.Subject), screen.Line(out.Detail))
			return err
		})
	})
}
