package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/client"
)

// sourceOrder is a command by which a person changes how sources stand.
type sourceOrder struct {
	use, short, long string
	done             string // the column that tells whether it was done
	all              string // what --all means; empty: sources are named
	until            bool   // whether it may have an end
	give             func(o sourcestate.Orders, ctx context.Context, until *time.Time, sources []string) ([]sourcestate.Outcome, error)
}

func newSourcesResume(c *cli) *cobra.Command {
	return c.sourceOrder(sourceOrder{
		use: "resume SOURCE …", short: "Make sources available again that are suspended or in maintenance",
		long: "Make sources available again that were suspended since too many polls of them failed (poll.suspend_after,\n" +
			"poll.suspend_sooner) or one showed too much (max_entries), or that are in maintenance. They are due at once: a running system polls them, or the next tributary up does. Remove the cause\n" +
			"first: tributary sources check says what it is. Others are left as they are. Without this command a suspended source\n" +
			"is available again after the first probe that shows something (poll.probe_interval), and one in maintenance at its --until, if it has one.",
		done: "resumed", all: "all that are suspended",
		give: func(o sourcestate.Orders, ctx context.Context, _ *time.Time, sources []string) ([]sourcestate.Outcome, error) {
			return o.Resume(ctx, sources...)
		},
	})
}

func newSourcesMaintain(c *cli) *cobra.Command {
	return c.sourceOrder(sourceOrder{
		use: "maintain SOURCE …", short: "Leave sources alone until they are resumed, or until some time",
		long: "Leave sources alone: nothing is listed there and nothing fetched from it, until tributary sources resume, or --until some\n" +
			"time: those in maintenance already get the new end, or none. Polls of them are ended within a second or two; a job that\n" +
			"has begun is done to its end, and no other begins. Files that wait are fetched from other sources that show them, or\n" +
			"later. No member restarts, and a restart changes nothing: the configuration's state of a source counts again once it\n" +
			"says another than before.",
		done: "maintained", until: true,
		give: func(o sourcestate.Orders, ctx context.Context, until *time.Time, sources []string) ([]sourcestate.Outcome, error) {
			return o.Maintain(ctx, until, sources...)
		},
	})
}

func newSourcesPoll(c *cli) *cobra.Command {
	return c.sourceOrder(sourceOrder{
		use: "poll SOURCE …", short: "Have sources polled at once",
		long: "Make sources due at once, whatever their interval: a running system polls them within schedule.tick, or the next\n" +
			"tributary up does. A suspended one is probed. One that is being polled is left to that, and one in maintenance stays\n" +
			"there: tributary sources resume.",
		done: "due",
		give: func(o sourcestate.Orders, ctx context.Context, _ *time.Time, sources []string) ([]sourcestate.Outcome, error) {
			return o.Poll(ctx, sources...)
		},
	})
}

func (c *cli) sourceOrder(o sourceOrder) *cobra.Command {
	cmd := &cobra.Command{Use: o.use, Short: o.short, Long: o.long, Args: cobra.ArbitraryArgs}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	all := new(bool)
	if o.all != "" {
		all = cmd.Flags().Bool("all", false, o.all)
	}
	until := new(string)
	if o.until {
		until = cmd.Flags().String("until", "", "when they are available again by themselves: a moment as 2026-11-21T10:00:00Z, or how long that is from now (6h, 2d)")
	}
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var end *time.Time
		switch {
		case o.all != "" && *all == (len(args) > 0):
			return usagef("name the sources to resume, or say --all: tributary sources shows which are suspended")
		case o.all == "" && len(args) == 0:
			return usagef("name the sources: tributary sources lists them")
		case *until != "":
			at, err := asof.Ahead(*until, now())
			if err != nil {
				return usagef("--until: %v", err)
			}
			end = &at
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				if *all {
					if err := r.Sources(cmd.Context(), func(s report.Source) error {
						if pg.Value(s.State) == control.SourceSuspended {
							args = append(args, s.Source)
						}
						return nil
					}); err != nil {
						return err
					}
				}
				return c.listOrdered(*output, o.done, args, func(id string) (sourcestate.Outcome, error) {
					return sourceByServer(cmd.Context(), r, id, cmd.Name(), client.Wish{Reason: *reason, Until: *until})
				})
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			if _, err := chooseSources(cmd.Context(), s, args); err != nil {
				return err
			}
			out, err := controlOutbox()
			if err != nil {
				return err
			}
			orders := sourcestate.Orders{Decision: control.Decision{By: requester(), Reason: *reason, At: now()}, Pool: s.Control, Outbox: out}
			outcomes, err := o.give(orders, cmd.Context(), end, args)
			if err != nil {
				return err
			}
			return c.list(*output, []string{"source", o.done, "detail"}, func(row func(any, ...string) error) error {
				for _, r := range outcomes {
					if err := row(map[string]any{"source": r.Source, o.done: r.Done, "detail": r.Detail}, r.Source, fmt.Sprint(r.Done), r.Detail); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}
