package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/client"
)

func newShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Tell the whole story of one file",
		Long:  "Hostings, versions, attempts, documents, errors with line and column, and times of one file. FILE is its name, or action/name.",
		Args:  cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	past, server := asOfFlags(cmd), addServerFlags(cmd)
	action := cmd.Flags().String("action", "", "add, edit or delete; default: all that there are")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, act := args[0], *action
		if before, after, ok := strings.Cut(name, "/"); ok && act == "" {
			act, name = before, after
		}
		tell := func(q, known pg.Querier, at *time.Time) error {
			stories, err := report.Show(cmd.Context(), q, name, act)
			if err != nil {
				return err
			}
			for i := range stories {
				stories[i].AsOf = at
				if stories[i].Priority, err = priorityOf(cmd.Context(), known, stories[i].Action, name); err != nil {
					return err
				}
			}
			return c.tellStories(*output, stories)
		}
		if server.given() {
			return c.askServer(server, past, func(r *client.Client) error {
				stories, err := r.Show(cmd.Context(), name, act)
				if err != nil {
					return err
				}
				return c.tellStories(*output, stories)
			})
		}
		if past.asOf == "" {
			return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error { return tell(s.Tracker, s.Control, nil) })
		}
		return c.withTrackerAt(cmd.Context(), past, asof.Scope{Name: name}, *output, func(q pg.Querier, at *time.Time) error { return tell(q, nil, at) })
	}
	return cmd
}

// tellStories writes the stories of files, one for each action.
func (c *cli) tellStories(output string, stories []report.Story) error {
	if output == report.JSON {
		return writeJSON(c.stdout, stories)
	}
	for i, s := range stories {
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		if err := s.WriteText(c.stdout); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// priorityOf is the priority that a person has given a file that waits; nil where
// nobody has, and of the past, of which control knows nothing.
func priorityOf(ctx context.Context, known pg.Querier, action, name string) (*report.Priority, error) {
	if known == nil {
		return nil, nil
	}
	files, err := control.KnownFiles(ctx, known, []string{schemas.FileID(action, name)})
	if err != nil || len(files) == 0 || files[0].Priority == nil {
		return nil, err
	}
	u := files[0].Urgency
	return &report.Priority{Priority: *u.Priority, By: u.PriorityBy, Reason: u.PriorityWhy}, nil
}
