package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tributary/consumers/tracker"
	"tributary/queries/report"
)

func newTrackerVerify(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare every row of the tracker with what the log says",
		Long: "Build the tracker's rows from the first record of status.changed in a schema of their own, while the tracker goes on,\n" +
			"and compare every row of every table at the offsets that the tracker has reached. Printed are each table's counts\n" +
			"and hash, and the differences: rows that the tracker lacks (missing), should not have (extra), or has otherwise\n" +
			"(differs, with the columns). Exit code 1 if there are any.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "table", "json")
	limit := cmd.Flags().Int("differences", 20, "list at most so many; all are counted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 || *limit > maxDifferences {
			return usagef("--differences must be from 0 to %d", maxDifferences)
		}
		return c.withBuilder(cmd.Context(), func(b *tracker.Builder) error {
			v, err := b.Verify(cmd.Context(), *limit)
			if err != nil {
				return err
			}
			if *output == "json" {
				err = writeJSON(c.stdout, []tracker.Verification{v})
			} else {
				err = printVerification(c.stdout, v)
			}
			if err == nil && v.Differ > 0 {
				return errSilent
			}
			return err
		})
	}
	return cmd
}

// maxDifferences bounds what a verification holds.
const maxDifferences = 100_000

func printVerification(w io.Writer, v tracker.Verification) error {
	rows := make([][]string, 0, len(v.Tables))
	for _, t := range v.Tables {
		verdict := "equal"
		if !t.Equal {
			verdict = "differs"
		}
		rows = append(rows, []string{t.Table, strconv.FormatInt(t.Rows, 10), strconv.FormatInt(t.Rebuilt, 10), t.Hash[:16], verdict})
	}
	if err := report.WriteTable(w, []string{"TABLE", "TRACKER", "LOG", "HASH", "RESULT"}, rows); err != nil {
		return err
	}
	for _, d := range v.Differences {
		if _, err := fmt.Fprintf(w, "\n%s %s: %s\n", d.Table, d.Key, meaning(d.Kind)); err != nil {
			return err
		}
		for _, col := range d.Columns {
			if _, err := fmt.Fprintf(w, "  %s: tracker %s, log %s\n", col.Column, shownValue(col.Tracker), shownValue(col.Log)); err != nil {
				return err
			}
		}
	}
	var err error
	switch more := v.Differ - int64(len(v.Differences)); {
	case v.Differ == 0:
		_, err = fmt.Fprintf(w, "the tracker is what the log says: %d records of %d partitions\n", v.Records, len(v.Offsets))
	case more > 0:
		_, err = fmt.Fprintf(w, "\n%d differences, %d more than listed (see --differences); tributary tracker rebuild puts them right\n", v.Differ, more)
	default:
		_, err = fmt.Fprintf(w, "\n%d differences; tributary tracker rebuild puts them right\n", v.Differ)
	}
	return err
}

func meaning(kind string) string {
	switch kind {
	case tracker.Missing:
		return "the tracker lacks it"
	case tracker.Extra:
		return "the log says nothing of it"
	case tracker.Columns:
		return "the table has other columns"
	}
	return "differs"
}

// shownValue is a column's text for people: plain, and not endless.
func shownValue(text *string) string {
	const most = 200
	if text == nil {
		return "null"
	}
	plain := report.Plain(*text)
	if runes := []rune(plain); len(runes) > most {
		plain = string(runes[:most]) + "…"
	}
	return strings.TrimSpace(strconv.Quote(plain))
}
