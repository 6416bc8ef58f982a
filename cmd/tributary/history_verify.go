package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tributary/consumers/history"
	"tributary/queries/report"
	"tributary/queries/verification"
)

func newHistoryVerify(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the history with the log, row by row",
		Long: "Compare the history with the log: for each range of offsets of each partition the number of rows and a checksum over\n" +
			"all their columns, computed in ClickHouse and from the log's records; where they differ, row by row; then each\n" +
			"rollup with the same added up from the log, where an event that was told twice counts once.\n\n" +
			"What runs may go on: the two are compared up to the offset that both have. Differences go to stdout: kind, topic,\n" +
			"partition and offset, and the columns of a changed row. With --ranges each range is printed instead, then the\n" +
			"rollups. The sums go to stderr. Exit code 1 says that something differs.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	o := history.VerifyOptions{}
	ranges := cmd.Flags().Bool("ranges", false, "print each range and each rollup, not only what differs")
	complete := cmd.Flags().Bool("complete", false, "what the history has not read yet, and rollups that can't be compared, are differences, too")
	cmd.Flags().Int64Var(&o.Range, "range", 100_000, "offsets with one checksum")
	cmd.Flags().IntVar(&o.Explain, "limit", 100, "name at most so many rows that differ; all are counted")
	cmd.Flags().StringVar(&o.Scratch, "scratch", "", "directory for temporary files, about 110 bytes a record (default: the system's)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Range < 1 || o.Explain < 1 {
			return usagef("--range and --limit must be at least 1")
		}
		return c.withHistory(cmd.Context(), func(h *history.History) error {
			header := verification.DifferenceHeader()
			if *ranges {
				header = verification.SpanHeader()
			}
			var v history.Verified
			err := c.list(*output, header, func(row func(any, ...string) error) (err error) {
				verification.WriteHistory(&o, *ranges, row)
				v, err = h.Verify(cmd.Context(), o)
				return err
			})
			if err != nil {
				return err
			}
			for _, line := range verification.SumOfHistory(v) {
				fmt.Fprintln(c.stderr, line)
			}
			if !v.Equal() || *complete && !v.Complete() {
				return errSilent
			}
			return nil
		})
	}
	return cmd
}
