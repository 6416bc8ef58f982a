package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tributary/consumers/tracker"
)

func newTrackerRebuild(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Build the tracker's rows anew from the log and put them in place",
		Long: "Build the tracker's rows from the first record of status.changed, beside those that are there, and put them in their\n" +
			"place in one transaction: readers find the old rows until then and the new ones from then on. The tracker may go on\n" +
			"meanwhile. Where there is no tracker, it is made. Killed at any moment it leaves all as it was: run it again.\n\n" +
			"It is also the way back where the topic was deleted and made anew (topic_anew): the rows are then those of the new\n" +
			"log. A log whose beginning is gone is refused.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withBuilder(cmd.Context(), func(b *tracker.Builder) error {
			r, err := b.Rebuild(cmd.Context())
			if err != nil {
				return err
			}
			if *output == "json" {
				return writeJSON(c.stdout, []tracker.Rebuilt{r})
			}
			for _, note := range r.Notes {
				if _, err := fmt.Fprintln(c.stdout, "note: "+note); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(c.stdout, "the tracker was built from %d records of %d partitions\n", r.Records, len(r.Offsets))
			return err
		})
	}
	return cmd
}
