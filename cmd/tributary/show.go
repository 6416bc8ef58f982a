package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
)

func newShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Tell the whole story of one file",
		Long:  "Hostings, versions, attempts, documents, errors with line and column, and times of one file. FILE is its name, or action/name.",
		Args:  cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, report.Table, report.JSON)
	past := asOfFlags(cmd)
	action := cmd.Flags().String("action", "", "add, edit or delete; default: all that there are")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, act := args[0], *action
		if before, after, ok := strings.Cut(name, "/"); ok && act == "" {
			act, name = before, after
		}
		return c.withTrackerAt(cmd.Context(), past, asof.Scope{Name: name}, *output, func(q pg.Querier, at *time.Time) error {
			stories, err := report.Show(cmd.Context(), q, name, act)
			if err != nil {
				return err
			}
			for i := range stories {
				stories[i].AsOf = at
			}
			if *output == report.JSON {
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
		})
	}
	return cmd
}
