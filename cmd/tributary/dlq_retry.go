package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/sql/control"
)

// newDLQReplay is dlq retry under the name that it had before.
func newDLQReplay(c *cli) *cobra.Command {
	cmd := newDLQRetry(c)
	cmd.Use, cmd.Short = "replay [ID…]", "Deprecated: dlq retry under its old name"
	cmd.Long = "Deprecated: use dlq retry, which does the same. This name is kept for one release."
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fmt.Fprintln(c.stderr, "tributary dlq replay is deprecated and goes with the next release: use tributary dlq retry")
		return run(cmd, args)
	}
	return cmd
}

func newDLQRetry(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry [ID…]",
		Short: "Request new attempts for dead letters",
		Long: "Request a new attempt for each dead letter, once: those named by id, or the open ones that --where means. Remove the\n" +
			"cause first. Where bytes had been accepted the new attempt begins with the stored ones; else the file is fetched.\n" +
			"All documents of an archive are processed again, so that letters of one archive share the new attempt; what is in\n" +
			"the warehouse is not doubled by that. A running system takes it up; otherwise the next tributary up does.\n\n" +
			"Refused, with the reason, are letters that were retried already, that later attempts have left behind, that ask\n" +
			"for nothing, and those whose retries have died of the same cause --max-deaths times. Exit code 1 if one was.",
	}
	output := outputFlag(cmd, report.Formats()...)
	var w whereFlags
	w.add(cmd)
	o := deadletter.RetryOptions{}
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why, for those who read it later")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&o.Fetch, "fetch", false, "fetch the bytes again instead of using those stored")
	cmd.Flags().BoolVar(&o.Force, "force", false, "also what died again too often, was dropped, or whose retry failed")
	cmd.Flags().IntVar(&o.MaxDeaths, "max-deaths", 3, "refuse what was retried so often and died each time of the same cause")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := w.chosen(args)
		if err != nil {
			return err
		}
		o.By = requester()
		ctx := cmd.Context()
		return c.openLedger(ctx, func(s *stores, d *deadletter.Ledger) (err error) {
			p := s.decider(d.Reader.Codec)
			if p.Blobs, err = openBlobs(ctx, s.cfg, s.Control); err != nil {
				return err
			}
			what := "retried"
			if o.DryRun {
				what = "would be retried"
			}
			t := tally{output: *output, files: map[string]bool{}}
			err = c.list(*output, []string{"id", "about", "attempt", "deaths", "refused"}, func(row func(any, ...string) error) error {
				return d.EachChosen(ctx, args, f, func(chunk []*deadletter.Standing) error {
					done, err := d.Retry(ctx, p, chunk, o)
					if err != nil {
						return err
					}
					for _, r := range done {
						line, cells := t.retried(r)
						if err := row(line, cells...); err != nil {
							return err
						}
					}
					return nil
				})
			})
			if err != nil {
				return letterError(args, err)
			}
			return t.end(c, what)
		})
	}
	return cmd
}

func newDLQDrop(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop [ID…]",
		Short: "Hide dead letters that need no retry",
		Long: "Hide dead letters, with a reason: those named by id, or the open ones that --where means. Nothing is deleted:\n" +
			"dlq list --all shows them, and retry --force still retries them.",
	}
	output := outputFlag(cmd, report.Formats()...)
	var w whereFlags
	w.add(cmd)
	reason := cmd.Flags().String("reason", "", "why, for those who read it later; must be given")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := w.chosen(args)
		if err != nil {
			return err
		}
		if *reason == "" {
			return usagef("say why with --reason: whoever finds them later wants to know")
		}
		ctx := cmd.Context()
		return c.openLedger(ctx, func(s *stores, d *deadletter.Ledger) error {
			p := s.decider(d.Reader.Codec)
			t := tally{output: *output, files: map[string]bool{}}
			err := c.list(*output, []string{"id", "about", "refused"}, func(row func(any, ...string) error) error {
				return d.EachChosen(ctx, args, f, func(chunk []*deadletter.Standing) error {
					done, err := d.Drop(ctx, p, chunk, control.Decision{By: requester(), Reason: *reason})
					if err != nil {
						return err
					}
					for _, r := range done {
						line := t.count(r.Letter, r.Refused)
						if err := row(line, line.ID, line.About, line.Refused); err != nil {
							return err
						}
					}
					return nil
				})
			})
			if err != nil {
				return letterError(args, err)
			}
			return t.end(c, "dropped")
		})
	}
	return cmd
}

// decidedRow is what was done about one letter, as -o json writes it.
type decidedRow struct {
	ID      string `json:"id"`
	About   string `json:"about"`
	Attempt int32  `json:"attempt,omitempty"` // the new one
	Deaths  int    `json:"deaths,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// tally counts what was done.
type tally struct {
	output        string
	done, refused int
	files         map[string]bool
	documents     int64
}

func (t *tally) count(l *deadletter.Letter, refused string) decidedRow {
	if refused == "" {
		t.done++
		t.files[l.File] = true
	} else {
		t.refused++
	}
	return decidedRow{ID: l.ID, About: l.Subject(), Refused: refused}
}

func (t *tally) retried(r deadletter.Retried) (decidedRow, []string) {
	row := t.count(r.Letter, r.Refused)
	row.Attempt, row.Deaths = r.Attempt, r.Deaths
	t.documents += int64(r.Documents)
	attempt := ""
	if r.Attempt > 0 {
		attempt = strconv.Itoa(int(r.Attempt))
	}
	return row, []string{row.ID, row.About, attempt, strconv.Itoa(r.Deaths), row.Refused}
}

// end says what was done, to people, and fails if something was refused.
func (t *tally) end(c *cli, what string) error {
	documents := ""
	if t.documents > 0 {
		documents = fmt.Sprintf(" (%d documents of them are known)", t.documents)
	}
	if t.output == report.Table {
		fmt.Fprintf(c.stdout, "%d dead letters of %d files%s %s, %d refused\n", t.done, len(t.files), documents, what, t.refused)
	}
	if t.refused > 0 {
		return errSilent
	}
	return nil
}
