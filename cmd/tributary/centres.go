package main

import (
	"github.com/spf13/cobra"

	"tributary/queries/report"
)

func newCentres(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "centres", Short: "List centres and how their files stand", Args: knownCommand}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return listTracker(cmd.Context(), c, *output, report.CentreHeader(), report.Centres)
	}
	cmd.AddCommand(newCentresReport(c))
	return cmd
}
