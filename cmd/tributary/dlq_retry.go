package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
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
			"for nothing, and those whose retries have died of the same cause --max-deaths times. Exit code 1 if one was.\n" +
			"With --server --where means the newest 10,000 at most.",
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
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
		ctx, what := cmd.Context(), "retried"
		if o.DryRun {
			what = "would be retried"
		}
		t := tally{output: *output, files: map[string]bool{}}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				return c.tellRetried(&t, what, func(each func(order.Decided) error) error {
					return w.byServer(ctx, r, args, f, func(ids []string) error {
						return r.RetryLetters(ctx, client.LetterWish{IDs: ids, Reason: o.Reason, DryRun: o.DryRun, Fetch: o.Fetch, Force: o.Force, MaxDeaths: o.MaxDeaths}, each)
					})
				})
			})
		}
		o.By = requester()
		return c.openLedger(ctx, func(s *stores, d *deadletter.Ledger) (err error) {
			p := s.decider(d.Reader.Codec)
			if p.Blobs, err = openBlobs(ctx, s.cfg, s.Control); err != nil {
				return err
			}
			err = c.tellRetried(&t, what, func(each func(order.Decided) error) error {
				return d.EachChosen(ctx, args, f, func(chunk []*deadletter.Standing) error {
					done, err := d.Retry(ctx, p, chunk, o)
					return eachDecided(done, err, order.RetriedLetter, each)
				})
			})
			return letterError(args, err)
		})
	}
	return cmd
}

func newDLQDrop(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop [ID…]",
		Short: "Hide dead letters that need no retry",
		Long: "Hide dead letters, with a reason: those named by id, or the open ones that --where means. Nothing is deleted:\n" +
			"dlq list --all shows them, and retry --force still retries them. With --server --where means the newest 10,000 at most.",
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
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
		t := tally{output: *output, files: map[string]bool{}}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				return c.tellDropped(&t, func(each func(order.Decided) error) error {
					return w.byServer(ctx, r, args, f, func(ids []string) error {
						return r.DropLetters(ctx, client.LetterWish{IDs: ids, Reason: *reason}, each)
					})
				})
			})
		}
		return c.openLedger(ctx, func(s *stores, d *deadletter.Ledger) error {
			p := s.decider(d.Reader.Codec)
			err := c.tellDropped(&t, func(each func(order.Decided) error) error {
				return d.EachChosen(ctx, args, f, func(chunk []*deadletter.Standing) error {
					done, err := d.Drop(ctx, p, chunk, control.Decision{By: requester(), Reason: *reason})
					return eachDecided(done, err, order.DroppedLetter, each)
				})
			})
			return letterError(args, err)
		})
	}
	return cmd
}

// byServer has something done about the letters that are named, or that the flags mean.
func (w *whereFlags) byServer(ctx context.Context, r *client.Client, ids []string, f *deadletter.Filter, do func(ids []string) error) (err error) {
	if len(ids) == 0 {
		if ids, err = r.ChosenLetters(ctx, w.where, w.topic, w.group, f.State); err != nil {
			return err
		}
	}
	return badOrder(do(ids))
}

// eachDecided gives what became of letters.
func eachDecided[T any](done []T, err error, of func(T) order.Decided, each func(order.Decided) error) error {
	for _, d := range done {
		if err == nil {
			err = each(of(d))
		}
	}
	return err
}

// tellRetried tells what became of letters that are retried.
func (c *cli) tellRetried(t *tally, what string, decide func(each func(order.Decided) error) error) error {
	err := c.list(t.output, []string{"id", "about", "attempt", "deaths", "refused"}, func(row func(any, ...string) error) error {
		return decide(func(d order.Decided) error {
			line, attempt := t.count(d), ""
			if d.Attempt > 0 {
				attempt = strconv.Itoa(int(d.Attempt))
			}
			return row(line, d.ID, d.About, attempt, strconv.Itoa(d.Deaths), d.Refused)
		})
	})
	if err != nil {
		return err
	}
	return t.end(c, what)
}

// tellDropped tells what became of letters that are dropped.
func (c *cli) tellDropped(t *tally, decide func(each func(order.Decided) error) error) error {
	err := c.list(t.output, []string{"id", "about", "refused"}, func(row func(any, ...string) error) error {
		return decide(func(d order.Decided) error { return row(t.count(d), d.ID, d.About, d.Refused) })
	})
	if err != nil {
		return err
	}
	return t.end(c, "dropped")
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

func (t *tally) count(d order.Decided) decidedRow {
	if d.Refused == "" {
		t.done++
		t.files[d.File] = true
	} else {
		t.refused++
	}
	t.documents += int64(d.Documents)
	return decidedRow{ID: d.ID, About: d.About, Attempt: d.Attempt, Deaths: d.Deaths, Refused: d.Refused}
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
