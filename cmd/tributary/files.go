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

func newFiles(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "files [NAME]",
		Short: "List files and where each stands",
		Long:  "List files and where each stands, by name and action unless --sort says otherwise. NAME may have * for any characters.",
		Args:  cobra.MaximumNArgs(1),
	}
	output, filter, past, server := outputFlag(cmd, report.Formats()...), filterFlags(cmd), asOfFlags(cmd), addServerFlags(cmd)
	cmd.Flags().StringVar(&filter.Source, "source", "", "the source fetched from")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			filter.Name = args[0]
		}
		if server.given() {
			return listServerBy(cmd.Context(), c, server, past, *filter, *output, report.FileHeader(), (*client.Client).Files)
		}
		return listTrackerAt(cmd.Context(), c, past, asof.ScopeOf(*filter), *output, report.FileHeader(), func(ctx context.Context, q pg.Querier, each func(report.File) error) error {
			return report.Files(ctx, q, *filter, each)
		}, func(f *report.File, at *time.Time) { f.AsOf = at })
	}
	cmd.AddCommand(newFilesAnnounce(c), newFilesHold(c), newFilesHeld(c), newFilesRelease(c), newFilesCancel(c), newFilesPriority(c), newFilesRetry(c))
	return cmd
}
