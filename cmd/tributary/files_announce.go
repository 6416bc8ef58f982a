package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/producers/poll"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/client"
)

func newFilesAnnounce(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "announce SOURCE PATH …", Short: "Have files taken up at once that a source shows",
		Long: "Look at files of a source (add/NAME, edit/NAME or delete/NAME), by one connection beside those that max_sessions allows,\n" +
			"and announce those that are there: a running system judges them as in a listing, and fetches them at once, without\n" +
			"waiting for the next poll or for them to settle. What can't be taken up is refused by name (tributary show). The\n" +
			"same said again changes nothing. Exit code 1 if one can't be announced.",
		Args: cobra.MinimumNArgs(2),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	timeout := cmd.Flags().Duration("timeout", time.Minute, "of the connection, all files together; not with --server")
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			if cmd.Flags().Changed("timeout") {
				return usagef("give --timeout without --server: a server takes a minute at most")
			}
			return c.askServer(server, nil, func(r *client.Client) error {
				done, err := r.Announce(cmd.Context(), args[0], args[1:], *reason)
				if err != nil {
					return badOrder(err)
				}
				return c.listAnnounced(*output, done)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			done, err := announce(cmd.Context(), s, args[0], args[1:], *timeout, control.Decision{By: requester(), Reason: *reason, At: now()})
			if err != nil {
				return err
			}
			return c.listAnnounced(*output, done)
		})
	}
	return cmd
}

// listAnnounced writes what became of files that were announced.
func (c *cli) listAnnounced(output string, done []poll.ByHand) error {
	return c.listDone(output, []string{"path", "announced", "size", "detail"}, func(row func(bool, any, ...string) error) error {
		for _, f := range done {
			if err := row(f.Announced, f, f.Path, fmt.Sprint(f.Announced), fmt.Sprint(f.Size), f.Detail); err != nil {
				return err
			}
		}
		return nil
	})
}

func announce(ctx context.Context, s *stores, id string, paths []string, timeout time.Duration, by control.Decision) ([]poll.ByHand, error) {
	out, err := controlOutbox()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done, err := poll.Hand{Pool: s.Control, Outbox: out, Config: s.cfg, Log: s.log, Now: now}.Announce(ctx, id, paths, by)
	var rests *poll.NotFetchedError
	if sources.Refused(err) || errors.As(err, &rests) {
		return nil, usage(err)
	}
	return done, err
}
