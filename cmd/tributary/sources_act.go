package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/producers/donewith"
	"tributary/producers/sourcestate"
	"tributary/queries/report"
	"tributary/sql/control"
)

func newSourcesAct(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "act SOURCE …", Short: "Have done at sources what they define as done_with, or stop that",
		Long: "Have done at sources what they define as done_with (delete, move, mark) with each file of which all is inserted. Until that\n" +
			"is ordered, what would be done is only shown: tributary sources show counts it, tributary show FILE tells it. Look at that\n" +
			"first. The order counts for the done_with and the url that the source has now: with another of either it is only shown\n" +
			"again. --stop takes the order back; what has been done stays.",
		Args: cobra.MinimumNArgs(1),
	}
	output := outputFlag(cmd, report.Formats()...)
	reason := cmd.Flags().String("reason", "", "why, for those who read it later; must be given")
	stop := cmd.Flags().Bool("stop", false, "only show from now on what would be done")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.TrimSpace(*reason) == "" {
			return usagef("say why: --reason; what is deleted at a source can't be had back there")
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			out, err := controlOutbox()
			if err != nil {
				return err
			}
			orders := sourcestate.Orders{Decision: control.Decision{By: requester(), Reason: *reason, At: now()}, Pool: s.Control, Outbox: out}
			outcomes, err := donewith.Order(cmd.Context(), orders, !*stop, args...)
			if err != nil {
				return err
			}
			return c.list(*output, []string{"source", "done", "detail"}, func(row func(any, ...string) error) error {
				for _, r := range outcomes {
					if err := row(map[string]any{"source": r.Source, "done": r.Done, "detail": r.Detail}, r.Source, fmt.Sprint(r.Done), r.Detail); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

// doneWith is what becomes at a source of files that are inserted.
type doneWith struct {
	Rule    string              `json:"rule"`
	Acting  bool                `json:"acting"` // else it is only shown what would be done
	Ordered string              `json:"ordered,omitempty"`
	Files   []control.DoneCount `json:"files"`
}

// doneWithOf is nil where a source defines nothing.
func doneWithOf(ctx context.Context, q pg.Querier, s control.Standing) (*doneWith, error) {
	rule, acting := donewith.Acting(s)
	if rule == "" {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	d := &doneWith{Rule: rule, Acting: acting}
	if acting {
		d.Ordered = s.ActsSaid
	}
	var err error
	d.Files, err = control.DoneCounts(ctx, q, s.ID)
	return d, err
}

// text is it for people.
func (d *doneWith) text() string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	how := "only shown: tributary sources act has it done"
	if d.Acting {
		how = "it is done, " + screen.Line(d.Ordered)
	}
	fmt.Fprintf(&b, "done with files that are inserted: %s (%s)\n", screen.Line(d.Rule), how)
	for _, n := range d.Files {
		state := map[string]string{control.DoneDue: "to be looked at", control.DoneActing: "begun", control.DoneShown: "would be done", control.DoneLeft: "left alone", control.DoneDone: "done"}[n.State]
		if n.Exception != "" {
			state += ", " + n.Exception
		}
		fmt.Fprintf(&b, "  %s: %d files\n", state, n.Files)
	}
	return b.String()
}
