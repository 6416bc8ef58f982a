package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/internal/source"
	"tributary/producers/poll"
	"tributary/queries/report"
	"tributary/sql/control"
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
	output := outputFlag(cmd, report.Formats()...)
	timeout := cmd.Flags().Duration("timeout", time.Minute, "of the connection, all files together")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			done, err := announce(cmd.Context(), s, args[0], args[1:], *timeout)
			if err != nil {
				return err
			}
			return c.listDone(*output, []string{"path", "announced", "size", "detail"}, func(row func(bool, any, ...string) error) error {
				for _, f := range done {
					if err := row(f.Announced, f, f.Path, fmt.Sprint(f.Announced), fmt.Sprint(f.Size), f.Detail); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

func announce(ctx context.Context, s *stores, id string, paths []string, timeout time.Duration) ([]poll.ByHand, error) {
	known, err := knownSources(ctx, s, []string{id})
	if err != nil {
		return nil, err
	}
	if known[0].State != control.SourceAvailable {
		return nil, usagef("%s is %s, so nothing is fetched from it: tributary sources resume %s", id, known[0].State, id)
	}
	src, err := config.ParseDefinition(known[0].Definition)
	if err != nil {
		return nil, err
	}
	r, err := source.Remote(src, s.cfg.Poll.ConnectTimeout, s.cfg.Poll.IdleTimeout, s.cfg.Limits)
	if err != nil {
		return nil, usage(err)
	}
	out, err := controlOutbox()
	if err != nil {
		return nil, err
	}
	r.Gate = control.GateTo(s.Control, src, known[0].Server, now, s.log)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := connectors.All().Dial(ctx, r)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return poll.Announce(ctx, s.Control, out, session, id, paths, now())
}
