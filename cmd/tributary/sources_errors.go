package main

import (
	"context"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/web/client"
)

func newSourcesErrors(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "errors [SOURCE]", Short: "Count the errors of sources by class, since they became available",
		Long: "Count by class what polls of sources (or of the one that is named) and fetches from them met since each was added, or\n" +
			"became available again the last time: address, timeout, server, content, connection, size, authorization, storage,\n" +
			"max_errors, which is a suspension, and max_resources. A class has the bit of the distributed crawler's ErrorMask that means the\n" +
			"same. What is wrong with files once they are here counts against nobody.",
		Args: cobra.MaximumNArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source := ""
		if len(args) == 1 {
			source = args[0]
		}
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, report.SourceErrorsHeader(), func(ctx context.Context, r *client.Client, each func(report.SourceErrors) error) error {
				return r.SourceErrors(ctx, source, each)
			})
		}
		return listTracker(cmd.Context(), c, *output, report.SourceErrorsHeader(), func(ctx context.Context, q pg.Querier, each func(report.SourceErrors) error) error {
			return report.SourceErrorList(ctx, q, source, each)
		})
	}
	return cmd
}
