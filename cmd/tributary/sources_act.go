package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tributary/producers/donewith"
	"tributary/producers/sourcestate"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

func newSourcesAct(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "act SOURCE …", Short: "Have done at sources what they define as done_with, or stop that",
		Long: "Have done at sources what they define as done_with (delete, move, mark) with each file of which all is inserted. Until that\n" +
			"is ordered, what would be done is only shown: tributary sources show counts it, tributary show FILE tells it. Look at that\n" +
			"first. The order counts for the done_with and the url that the source has now: with another of either it is only shown\n" +
			"again. With --seen it is ordered only if that is what was\n" +
			"looked at. --stop takes the order back; what has been done stays.",
		Args: cobra.MinimumNArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	reason := cmd.Flags().String("reason", "", "why, for those who read it later; must be given")
	seen := cmd.Flags().String("seen", "", "what sources show says would be done, and where: is that another by now, nothing is ordered")
	stop := cmd.Flags().Bool("stop", false, "only show from now on what would be done")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.TrimSpace(*reason) == "" {
			return usagef("say why: --reason; what is deleted at a source can't be had back there")
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				return c.listOrdered(*output, "done", args, func(id string) (sourcestate.Outcome, error) {
					verb := order.Act
					if *stop {
						verb = order.StopActing
					}
					return sourceByServer(cmd.Context(), r, id, verb, client.Wish{Reason: *reason, Seen: *seen})
				})
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			out, err := controlOutbox()
			if err != nil {
				return err
			}
			orders := sourcestate.Orders{Decision: control.Decision{By: requester(), Reason: *reason, At: now()}, Pool: s.Control, Outbox: out}
			return c.listOrdered(*output, "done", args, func(id string) (sourcestate.Outcome, error) {
				outcomes, err := donewith.Order(cmd.Context(), orders, donewith.Wish{Act: !*stop, Seen: *seen}, id)
				if errors.Is(err, donewith.ErrChanged) {
					return sourcestate.Outcome{Source: id, Detail: err.Error()}, nil
				}
				if err != nil {
					return sourcestate.Outcome{}, err
				}
				return outcomes[0], nil
			})
		})
	}
	return cmd
}

// listOrdered gives the order about each source, and writes what became of it.
func (c *cli) listOrdered(output, done string, ids []string, give func(id string) (sourcestate.Outcome, error)) error {
	return c.list(output, []string{"source", done, "detail"}, func(row func(any, ...string) error) error {
		for _, id := range ids {
			r, err := give(id)
			if err != nil {
				return err
			}
			if err := row(map[string]any{"source": r.Source, done: r.Done, "detail": r.Detail}, r.Source, fmt.Sprint(r.Done), r.Detail); err != nil {
				return err
			}
		}
		return nil
	})
}

// sourceByServer has a server give an order about a source.
func sourceByServer(ctx context.Context, r *client.Client, id, name string, w client.Wish) (sourcestate.Outcome, error) {
	out, err := r.Order(ctx, order.Sources, id, name, w)
	return sourcestate.Outcome{Source: id, Done: out.Done, Detail: out.Detail}, err
}
