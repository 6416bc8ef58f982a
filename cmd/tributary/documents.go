package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/client"
)

func newDocuments(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "documents [FILE]",
		Short: "List documents and where each stands",
		Long: "List the documents of each file's shown attempt, with their errors by position. FILE is the file's name and may\n" +
			"have * for any characters. The table shows the first error; -o json and show have all.",
		Args: cobra.MaximumNArgs(1),
	}
	output, filter, past, server := outputFlag(cmd, report.Formats()...), filterFlags(cmd), asOfFlags(cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			filter.Name = args[0]
		}
		if server.given() {
			return listServerBy(cmd.Context(), c, server, past, *filter, *output, report.DocumentHeader(), (*client.Client).Documents)
		}
		return listTrackerAt(cmd.Context(), c, past, asof.ScopeOf(*filter), *output, report.DocumentHeader(), func(ctx context.Context, q pg.Querier, each func(report.Document) error) error {
			return report.Documents(ctx, q, *filter, each)
		}, func(d *report.Document, at *time.Time) { d.AsOf = at })
	}
	cmd.AddCommand(newDocumentsQC(c), newDocumentsShow(c))
	return cmd
}
