package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tributary/consumers/history"
	"tributary/queries/report"
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
		return c.withHistory(cmd.Context(), func(s *stores, h *history.History) error {
			header := []string{"kind", "topic", "partition", "offset", "columns"}
			if *ranges {
				header = []string{"what", "partition", "from", "to", "log", "history", "log checksum", "history checksum", "equal"}
			}
			out, err := report.NewOutput(c.stdout, *output, header...)
			if err != nil {
				return usage(err)
			}
			o.Prefix = s.cfg.Kafka.TopicPrefix
			if *ranges {
				o.Span = func(s history.Span) error { return out.Row(s, spanCells(s)...) }
				o.Rollup = func(r history.Rollup) error { return out.Row(r, rollupCells(r)...) }
			} else {
				o.Difference = func(d history.Difference) error { return out.Row(d, differenceCells(d)...) }
				o.Rollup = func(r history.Rollup) error {
					if r.Equal || r.Skipped != "" {
						return nil
					}
					return out.Row(r, "rollup", r.Name, "", "", strings.Join(r.Days, " "))
				}
			}
			v, err := h.Verify(cmd.Context(), s.Kafka, o)
			if err = errors.Join(err, out.Close()); err != nil {
				return err
			}
			c.sayVerified(v)
			c.sayRemedy(v)
			if !v.Equal() || *complete && !v.Complete() {
				return errSilent
			}
			return nil
		})
	}
	return cmd
}

func spanCells(s history.Span) []string {
	return []string{s.Topic, fmt.Sprint(s.Partition), fmt.Sprint(s.From), fmt.Sprint(s.To), fmt.Sprint(s.LogRecords), fmt.Sprint(s.HistoryRows),
		s.LogChecksum, s.HistoryChecksum, fmt.Sprint(s.Equal)}
}

func rollupCells(r history.Rollup) []string {
	equal := fmt.Sprint(r.Equal)
	if r.Skipped != "" {
		equal = "not compared: " + r.Skipped
	}
	return []string{r.Name, "", "", "", fmt.Sprint(r.LogEvents), fmt.Sprint(r.RollupEvents), "", "", equal}
}

func differenceCells(d history.Difference) []string {
	columns := make([]string, len(d.Columns))
	for i, c := range d.Columns {
		columns[i] = fmt.Sprintf("%s: log %q, history %q", c.Name, c.Log, c.History)
	}
	return []string{d.Kind, d.Topic, fmt.Sprint(d.Partition), fmt.Sprint(d.Offset), strings.Join(columns, "; ")}
}

func (c *cli) sayVerified(v history.Verified) {
	verdict := "the history is equal to the log"
	if !v.Equal() {
		verdict = fmt.Sprintf("the history DIFFERS from the log: %d differences", v.Differences)
	}
	fmt.Fprintf(c.stderr, "%s: %d records, %d rows, %d of %d ranges and %d of %d rollups equal\n", verdict, v.LogRecords, v.HistoryRows,
		v.Ranges-v.RangesDifferent, v.Ranges, v.RollupsEqual, v.Rollups)
	for _, n := range []struct {
		n    int64
		what string
	}{
		{v.Behind, "offsets at the log's end are not in the history yet"},
		{int64(v.Older), "rows are older than the log's beginning, and were not compared"},
		{int64(v.Expired), "rows are gone, as history.retention wants"},
		{int64(v.RollupsSkipped), "rollups could not be compared, since the history and the log don't go equally far back"},
	} {
		if n.n > 0 {
			fmt.Fprintf(c.stderr, "%d %s\n", n.n, n.what)
		}
	}
}

// sayRemedy says, as the last line, what puts a history right that differs.
func (c *cli) sayRemedy(v history.Verified) {
	if !v.Equal() {
		fmt.Fprintln(c.stderr, "tributary history rebuild fills the history again from the log, which puts this right")
	}
}
