package main

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

func newSourcesResume(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume SOURCE …",
		Short: "Make suspended sources available again",
		Long: "Make sources available again that were suspended since too many polls of them failed (poll.suspend_after). They are\n" +
			"due at once: a running system polls them, or the next tributary up does. Remove the cause first: tributary sources\n" +
			"check says what it is. One that was not suspended is left as it is. Without this command a suspended source is\n" +
			"available again after the first probe that shows something (poll.probe_interval).",
		Args: cobra.ArbitraryArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	all := cmd.Flags().Bool("all", false, "all that are suspended")
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *all == (len(args) > 0) {
			return usagef("name the sources to resume, or say --all: tributary sources shows which are suspended")
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			if _, err := chooseSources(s.cfg, args); err != nil {
				return err
			}
			codec, err := schemas.NewCodec()
			if err != nil {
				return err
			}
			message := "resumed by " + requester()
			if *reason != "" {
				message += ": " + *reason
			}
			var resumed []string
			var found []control.Standing
			err = pg.InTx(cmd.Context(), s.Control, func(tx pgx.Tx) (err error) {
				if resumed, err = sourcestate.Resume(cmd.Context(), tx, outbox.Outbox{Schema: control.Schema, Codec: codec}, args, message, time.Now()); err != nil {
					return err
				}
				found, err = control.Standings(cmd.Context(), tx, args...)
				return err
			})
			if err != nil {
				return err
			}
			return c.list(*output, []string{"source", "resumed", "detail"}, func(row func(any, ...string) error) error {
				for _, r := range sourcestate.Outcomes(args, resumed, found) {
					if err := row(r, r.Source, fmt.Sprint(r.Resumed), r.Detail); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}
