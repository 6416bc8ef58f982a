package main

import (
	"io"

	"github.com/spf13/cobra"

	"tributary/consumers/tracker"
	"tributary/queries/verification"
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
			err = c.tell(*output, v, func(w io.Writer) error { return verification.WriteTracker(w, v) })
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
