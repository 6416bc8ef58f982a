package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/consumers/history"
	"tributary/internal/screen"
)

func newHistoryRebuild(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Fill the history again from the log",
		Long: "Fill a new table from the log, beside the one that is there, and put it in its place in one step. What runs may\n" +
			"go on: readers see the old rows or the new ones, and the role history reads on where the new table ends.\n" +
			"It also works where the database or all of ClickHouse's data are gone. Stopped or killed, it leaves the history\n" +
			"as it was; what it has left is dropped by the next one. Afterwards: tributary history verify.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	o := history.RebuildOptions{}
	cmd.Flags().BoolVar(&o.Force, "force", false, "also if that loses rows that the log has no records for any more")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withHistory(cmd.Context(), func(h *history.History) error {
			o.Progress = func(int64, int64) {}
			if screen.On(c.stderr) != nil {
				o.Progress = every(2*time.Second, func(done, total int64) {
					fmt.Fprintf(c.stderr, "%d of %d records (%s)\n", done, total, share(done, total))
				})
			}
			out, err := h.Rebuild(cmd.Context(), o)
			if errors.Is(err, history.ErrWouldLose) {
				return fmt.Errorf("%w; with --force it is done all the same", err)
			}
			if err != nil {
				return err
			}
			return c.tell(*output, out, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%d rows in %s, %.0f rows a second, from the topic with the id %s\n", out.Rows, out.Took.Round(time.Millisecond), float64(out.Rows)/out.Took.Seconds(), out.Topic)
				return err
			})
		})
	}
	return cmd
}
