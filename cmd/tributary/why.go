package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tributary/internal/centres"
	"tributary/queries/report"
	"tributary/queries/why"
	"tributary/sql/control"
	"tributary/web/client"
)

func newWhy(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why [SOURCE] PATH",
		Short: "Say why a file is where it is, or why it was not taken",
		Long: "Say in a sentence why a file is where it is, or why it was not taken, then what shows it, line by line, and what to do\n" +
			"if anything is to be done. PATH is a file's name, action/name, a path below a source's base, or a file's id; nothing\n" +
			"need be known of it. Without SOURCE each source is answered that shows the file, or else that could, the producing\n" +
			"centre's own first. Profile and limits are this configuration's; whether the disk is low is as this machine\n" +
			"sees it. With -o json each answer has a verdict, whose names are stable: docs/reference/verdicts.md lists them.",
		Args: cobra.RangeArgs(1, 2),
	}
	output, server := outputFlag(cmd, "text", report.JSON), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source, path := "", args[len(args)-1]
		if len(args) == 2 {
			source = args[0]
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				answers, more, err := r.Why(cmd.Context(), source, path)
				if err != nil {
					return err
				}
				return c.tellWhy(*output, answers, more)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			asker, err := s.asker(cmd.Context())
			if err != nil {
				return err
			}
			answers, more, err := asker.Ask(cmd.Context(), source, path)
			if err != nil {
				return err
			}
			return c.tellWhy(*output, answers, more)
		})
	}
	return cmd
}

// tellWhy writes answers, and how many more there would be.
func (c *cli) tellWhy(output string, answers []why.Answer, more int) error {
	var err error
	if output == report.JSON {
		err = writeJSON(c.stdout, answers)
	} else {
		err = writeAnswers(c.stdout, answers)
	}
	if err == nil && more > 0 {
		fmt.Fprintf(c.stderr, "%d more sources could show it: name one\n", more)
	}
	return err
}

// asker answers why files are where they are.
func (s *stores) asker(ctx context.Context) (*why.Asker, error) {
	p, err := loadProfile(s.cfg)
	if err != nil {
		return nil, usage(err)
	}
	known, err := control.Centres(ctx, s.Control)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 { // nobody has stored them yet
		known = centres.Merge(p, s.cfg)
	}
	return &why.Asker{Control: s.Control, Tracker: s.Tracker, Warehouse: s.Warehouse, Profile: p, Centres: centres.Known(known...), Dormant: dormant(s.cfg), Now: now,
		Limits: why.Limits{Settle: s.cfg.Poll.Settle.D(), PollCutoff: s.cfg.Sequence.PollCutoff.D(), ReleaseLimit: s.cfg.Sequence.ReleaseLimit.D(), LateLimit: s.cfg.Sequence.LateLimit.D()}}, nil
}

// writeAnswers writes answers for people, with a line between them.
func writeAnswers(w io.Writer, answers []why.Answer) error {
	for i := range answers {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := answers[i].WriteText(w); err != nil {
			return err
		}
	}
	return nil
}
