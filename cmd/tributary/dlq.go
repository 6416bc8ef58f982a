package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/screen"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/web/client"
)

func newDLQ(c *cli) *cobra.Command {
	return group("dlq", "Look at dead letters, retry them or drop them", newDLQList(c), newDLQShow(c), newDLQRetry(c), newDLQReplay(c), newDLQDrop(c))
}

// whereFlags are the flags that say which letters are meant.
type whereFlags struct {
	where        []string
	topic, group string
}

func (w *whereFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&w.where, "where", nil, "a condition as key=value, all of which must hold: exception, error (a part of it), stage, topic, centre, source, file, document (both with * and ?), state, since, until (what insert gave up tells no time and is not meant by these two)")
	cmd.Flags().StringVar(&w.topic, "topic", "", "only those of records of this topic, such as document.extracted")
	cmd.Flags().StringVar(&w.group, "group", "", "only those given up by this stage or group, such as validate")
}

// given tells whether any condition is.
func (w *whereFlags) given() bool { return len(w.where) > 0 || w.topic != "" || w.group != "" }

// filter reads the flags.
func (w *whereFlags) filter(now time.Time) (*deadletter.Filter, error) {
	f := &deadletter.Filter{Topic: w.topic, Stage: w.group}
	if err := f.Where(w.where, func(s string) (time.Time, error) { return asof.ParseMoment(s, now) }); err != nil {
		return nil, usage(err)
	}
	return f, nil
}

// chosen reads which letters a command line means, and refuses one that names none,
// or names them twice.
func (w *whereFlags) chosen(ids []string) (*deadletter.Filter, error) {
	switch {
	case len(ids) == 0 && !w.given():
		return nil, usagef("which dead letters? name their ids, or say --where; --where state=open means all that wait for somebody")
	case len(ids) > 0 && w.given():
		return nil, usagef("name dead letters by id, or say --where, not both")
	}
	return w.filter(time.Now())
}

// openLedger opens what dead letters are read from.
func (c *cli) openLedger(ctx context.Context, fn func(s *stores, d *deadletter.Ledger) error) error {
	return c.open(ctx, need{Kafka: true, Postgres: true}, func(s *stores) error {
		ledger, err := s.ledger()
		if err != nil {
			return err
		}
		return fn(s, ledger)
	})
}

func (s *stores) ledger() (*deadletter.Ledger, error) {
	codec, err := schemas.NewCodec()
	if err != nil {
		return nil, err
	}
	reader := &deadletter.Reader{Connect: s.Kafka, Codec: codec, Prefix: s.cfg.Kafka.TopicPrefix}
	return &deadletter.Ledger{Reader: reader, Control: s.Control, Warehouse: s.Warehouse}, nil
}

func newDLQList(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the newest first",
		Long: "List what stages could not work on and gave up: the newest 100, the newest first. With --limit 0 all are listed as\n" +
			"they lie, topic by topic. Those that were dropped are shown with --all, or --where state=dropped.\n\n" +
			"States: open (it waits for somebody), under_way, completed, died_again and failed (what became of its retry),\n" +
			"ordered_again (of insert: if it died again, it has a letter of its own), split (a job of several files,\n" +
			"each of which was requested again alone), unreadable (its record asks for nothing), dropped. DEATHS counts the\n" +
			"retries that died of the same cause.",
		Args: cobra.NoArgs,
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	var w whereFlags
	w.add(cmd)
	limit := cmd.Flags().Int("limit", 100, "at most so many; 0: all, as they lie")
	everything := cmd.Flags().Bool("all", false, "those that were dropped, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 || *limit > deadletter.MaxNewest {
			return usagef("--limit must be from 0 to %d", deadletter.MaxNewest)
		}
		f, err := w.filter(time.Now())
		if err != nil {
			return err
		}
		if server.given() {
			if *limit == 0 {
				return usagef("with --server --limit is from 1 to %d", client.MostLetters)
			}
			return listServer(cmd.Context(), c, server, nil, *output, deadletter.Header(), func(ctx context.Context, r *client.Client, each func(deadletter.Row) error) error {
				return r.Letters(ctx, w.where, w.topic, w.group, *limit, *everything, each)
			})
		}
		return c.openLedger(cmd.Context(), func(_ *stores, d *deadletter.Ledger) error {
			return c.list(*output, deadletter.Header(), func(row func(any, ...string) error) error {
				return d.List(cmd.Context(), f, *limit, *everything, func(l *deadletter.Standing) error { return row(l.Row(), l.Row().Cells()...) })
			})
		})
	}
	return cmd
}

func newDLQShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Tell the whole story of one dead letter",
		Long:  "What a dead letter is about, why it was given up, its headers, the original event and what became of it. ID is as dlq list shows it, such as validate:2:17.",
		Args:  cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				story, text, err := r.Letter(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.tell(*output, story, func(w io.Writer) error {
					_, err := io.WriteString(w, screen.Text(text))
					return err
				})
			})
		}
		return c.openLedger(cmd.Context(), func(_ *stores, d *deadletter.Ledger) error {
			l, err := d.Get(cmd.Context(), args[0])
			if err != nil {
				return letterError(args, err)
			}
			story := d.Tell(l)
			return c.tell(*output, story, story.WriteText)
		})
	}
	return cmd
}

// letterError is bad usage if an id that was given can't be one.
func letterError(ids []string, err error) error {
	for _, id := range ids {
		if _, _, _, bad := deadletter.ParseID(id); bad != nil {
			return usage(err)
		}
	}
	return err
}
