package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/recovery/quality"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

func newDocumentsQC(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "qc", Short: "Accept, question or hold documents in quality control",
		Long: "Decide about documents that are loaded. What is decided is an event, and where the documents stand: at qc. It keeps\n" +
			"nothing from the warehouse. List what awaits a decision with tributary documents --qc awaiting.",
	}
	for _, x := range []struct{ name, decision, short, long string }{
		{"accept", schemas.QualityAccepted, "Accept documents", "Say that nothing is wrong with the data of documents (qc, done). A file has passed once all of its documents have."},
		{"question", schemas.QualityQuestioned, "Question documents", "Say that something about the data of documents has to be answered first (qc, running)."},
		{"hold", schemas.QualityHeld, "Hold documents", "Say that the data of documents are not to be used (qc, cancelled). They stay in the warehouse, and whoever asks sees\n" +
			"it; tributary warehouse unload takes a file out."},
	} {
		cmd.AddCommand(c.decide(x.name+" DOCUMENT …", x.short, x.long, x.decision))
	}
	return cmd
}

func (c *cli) decide(use, short, long, decision string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Long: long + "\n\nA document is named by action/file/document. What is decided holds for its bytes, also when they are processed again; a\n" +
			"correction awaits a decision of its own. It need not be that a system runs. Exit code 1 if one is refused.",
		Args: cobra.MinimumNArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	reason := cmd.Flags().String("reason", "", "why, for those who read it later; needed but to accept")
	dry := cmd.Flags().Bool("dry-run", false, "only tell what would be done")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		documents := make([]quality.Document, len(args))
		for i, named := range args {
			var err error
			if documents[i], err = quality.Parse(named); err != nil {
				return usage(err)
			}
		}
		if err := order.CheckReason(*reason, decision != schemas.QualityAccepted && !*dry); err != nil {
			return usage(err)
		}
		list := func(decide func(quality.Document) (quality.Outcome, error)) error {
			return c.listDone(*output, []string{"document", "done", "detail"}, func(row func(bool, any, ...string) error) error {
				for _, d := range documents {
					r, err := decide(d)
					if err != nil {
						return err
					}
					if err := row(r.Done, r, r.Document, fmt.Sprint(r.Done), r.Detail); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				return list(func(d quality.Document) (quality.Outcome, error) {
					return r.Decide(cmd.Context(), d, cmd.Name(), client.Wish{Reason: *reason, DryRun: *dry})
				})
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			out, err := controlOutbox()
			if err != nil {
				return err
			}
			return list(func(d quality.Document) (quality.Outcome, error) {
				o := quality.Orders{Decision: control.Decision{By: requester(), Reason: *reason, At: now()}, Pool: s.Control, Tracker: s.Tracker, Outbox: out, Dry: *dry}
				return o.Decide(cmd.Context(), d, decision)
			})
		})
	}
	return cmd
}
