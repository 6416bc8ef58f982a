package main

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
)

// resumedRow is what became of one source, as -o json writes it.
type resumedRow struct {
	Source  string `json:"source"`
	Resumed bool   `json:"resumed"`
	Detail  string `json:"detail"`
}

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
		return c.withStores(cmd.Context(), need{Postgres: true}, func(cfg config.Config, s *stores) error {
			if _, err := chooseSources(cfg, args); err != nil {
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
				if resumed, err = sourcestate.Resume(cmd.Context(), tx, pg.Outbox{Schema: control.Schema, Codec: codec}, args, message, time.Now()); err != nil {
					return err
				}
				found, err = control.Standings(cmd.Context(), tx, args...)
				return err
			})
			if err != nil {
				return err
			}
			return c.writeResumed(*output, args, resumed, found)
		})
	}
	return cmd
}

// writeResumed says of each source that was meant what became of it.
func (c *cli) writeResumed(output string, named, resumed []string, found []control.Standing) error {
	out, err := report.NewOutput(c.stdout, output, "source", "resumed", "detail")
	if err != nil {
		return usage(err)
	}
	for _, row := range resumedRows(named, resumed, found) {
		if err := out.Row(row, row.Source, fmt.Sprint(row.Resumed), row.Detail); err != nil {
			return err
		}
	}
	return out.Close()
}

// resumedRows are the sources that were named, or all that were resumed.
func resumedRows(named, resumed []string, found []control.Standing) []resumedRow {
	done, state := map[string]bool{}, map[string]string{}
	for _, id := range resumed {
		done[id] = true
	}
	for _, s := range found {
		state[s.ID] = s.State
	}
	if len(named) == 0 {
		named = resumed
	}
	rows := make([]resumedRow, 0, len(named))
	for _, id := range named {
		row := resumedRow{id, done[id], "it is available, and due at once"}
		switch {
		case row.Resumed:
		case state[id] == "":
			row.Detail = "it was never polled: nothing has started with it in the configuration yet"
		default:
			row.Detail = "it was not suspended: it is " + state[id]
		}
		rows = append(rows, row)
	}
	return rows
}
