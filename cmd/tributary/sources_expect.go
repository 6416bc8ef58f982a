package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/web/client"
)

func newSourcesExpect(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "expect [SOURCE]", Short: "Say what is to be expected of sources, and what is late, short or unusually large",
		Long: "Say of each source (or of the one that is named) when new files are expected next, how many and how many bytes, how\n" +
			"fast they are fetched and how long it takes until they are loaded, as learned from its last arrivals, and how long\n" +
			"what is outstanding takes to be fetched. ×1.5 is an error factor: nine of ten were between two thirds of the number\n" +
			"and one and a half times it. With fewer than five measures it is unknown. Findings are late (no new files for more\n" +
			"than one and a half times the longest usual pause), short (less than a third of the least usual) and\n" +
			"unusually_large (more than three times the most usual). Exit code 1 with --strict where there are findings.",
		Args: cobra.MaximumNArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	strict := cmd.Flags().Bool("strict", false, "exit code 1 where anything is late, short or unusually large")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source, found := strings.Join(args, ""), false
		noting := func(each func(expect.Expectation) error) func(expect.Expectation) error {
			return func(e expect.Expectation) error {
				found = found || len(e.Findings) > 0
				return each(e)
			}
		}
		var err error
		if server.given() {
			err = listServer(cmd.Context(), c, server, nil, *output, expect.Header(), func(ctx context.Context, r *client.Client, each func(expect.Expectation) error) error {
				return r.Expected(ctx, source, noting(each))
			})
		} else {
			err = listTracker(cmd.Context(), c, *output, expect.Header(), func(ctx context.Context, q pg.Querier, each func(expect.Expectation) error) error {
				return expect.Sources(ctx, q, source, noting(each))
			})
		}
		if err == nil && found && *strict {
			return errSilent
		}
		return err
	}
	return cmd
}
