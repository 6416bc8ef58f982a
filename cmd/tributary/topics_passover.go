package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/kafka"
	"tributary/queries/report"
	"tributary/recovery/passover"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/warehouse"
	"tributary/topics"
)

func newTopicsPassOver(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pass-over TOPIC PARTITION OFFSET",
		Short: "Decide that no reader stops at a record any more",
		Long: "Decide that no reader stops at a record any more, where the log, tributary status or a metric says that one does: a\n" +
			"record that nobody can read, or one of document.ordered that contradicts those before it. The decision is an event of\n" +
			"record.passed.over with who, why and what was lost. It holds for the bytes of the record, for every reader, and for\n" +
			"ever: it can be replaced, and not be taken back. Those that have stopped go on by themselves.\n\n" +
			"First look with --dry-run. Other topics: the record counts as one that is no event. document.ordered: a record that\n" +
			"control gave loses its content, and the chain goes on with it; one that control did not give counts for nothing.\n" +
			"Control's own chain tells which it is; --goes-on says so where that is not known. With --missing the record itself\n" +
			"counts, and the positions that should come before it are given up. What is lost comes back with tributary replay.",
		Args: cobra.ExactArgs(3),
	}
	output := outputFlag(cmd, "text", "json")
	w := passover.Wish{}
	cmd.Flags().StringVar(&w.Reason, "reason", "", "why, for those who read it later")
	cmd.Flags().StringVar(&w.By, "by", "", "who decided (default: who runs this, and where)")
	cmd.Flags().BoolVar(&w.Missing, "missing", false, "document.ordered: the record counts, and what should come before it is lost")
	cmd.Flags().StringVar(&w.GoesOn, "goes-on", "", "document.ordered: the digest with which the chain goes on")
	dry := cmd.Flags().Bool("dry-run", false, "only show what the record is, and what would be lost")
	force := cmd.Flags().Bool("force", false, "also where this program finds no reader that stops")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := recordAt(&w, args); err != nil {
			return err
		}
		if strings.TrimSpace(w.Reason) == "" && !*dry {
			return usagef("say why with --reason: those who find something missing later will want to know; --dry-run shows what would be lost")
		}
		if w.By == "" {
			w.By = requester()
		}
		return c.open(cmd.Context(), need{Kafka: true, Postgres: true}, func(s *stores) error {
			return c.passOver(cmd.Context(), s, w, *dry, *force, *output)
		})
	}
	return cmd
}

// recordAt reads which record is meant.
func recordAt(w *passover.Wish, args []string) error {
	for _, t := range topics.Catalogue() {
		if args[0] == t.Name || strings.HasSuffix(args[0], "."+t.Name+".v1") {
			w.Topic = t.Name
		}
	}
	if w.Topic == "" || w.Topic == schemas.RecordPassedOverTopic {
		return usagef("there is no topic %q whose records can be passed over: see tributary topics list", args[0])
	}
	partition, err := strconv.ParseInt(args[1], 10, 32)
	if err != nil || partition < 0 {
		return usagef("PARTITION is a number from 0, not %q", args[1])
	}
	w.Partition = int32(partition)
	if w.Offset, err = strconv.ParseInt(args[2], 10, 64); err != nil || w.Offset < 0 {
		return usagef("OFFSET is a number from 0, not %q", args[2])
	}
	return nil
}

func (c *cli) passOver(ctx context.Context, s *stores, w passover.Wish, dry, force bool, output string) error {
	list, _, err := s.decided(ctx)
	if err != nil {
		return err
	}
	judge := passover.Judge{
		List:  list,
		Given: func(ctx context.Context) (string, []schemas.Record, error) { return control.LastGiven(ctx, s.Control) },
		Applied: func(ctx context.Context, position int64, digest []byte) (bool, error) {
			return warehouse.Applied(ctx, s.Warehouse, position, digest)
		},
	}
	found, err := judge.Record(ctx, w)
	if errors.Is(err, passover.ErrNoRecord) {
		return usage(err)
	}
	refused := errors.Is(err, passover.ErrNotStopped)
	if err != nil && !refused {
		return err
	}
	if refused && !dry && !force {
		return fmt.Errorf("%w. If one does stop, say --force", err)
	}
	if !dry {
		if err := decide(ctx, s, list, found); err != nil {
			return err
		}
	}
	return c.tell(output, found, func(w io.Writer) error { return found.WriteText(w, dry) })
}

// decide makes the topic, where older programs left none, and writes the event.
func decide(ctx context.Context, s *stores, list *passover.List, found *passover.Judgement) error {
	client, err := s.Kafka()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := topics.Ensure(ctx, kadm.NewClient(client), s.cfg.Kafka); err != nil {
		return err
	}
	record, err := list.Codec.Encode(found.Message(now()))
	if err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, kafka.ToKgo(s.cfg.Kafka.TopicPrefix, record)).FirstErr(); err != nil {
		return fmt.Errorf("write the decision: %w", err)
	}
	return nil
}

func newTopicsPassedOver(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "passed-over",
		Short: "List the records that are passed over, and who decided so",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.open(cmd.Context(), need{Kafka: true}, func(s *stores) error {
			passed, _, err := s.decided(cmd.Context())
			if err != nil {
				return err
			}
			return c.list(*output, []string{"at", "topic", "partition", "offset", "position", "missing", "by", "reason", "lost"}, func(row func(any, ...string) error) error {
				for _, d := range passed.All() {
					if err := row(d, d.At.Format(time.RFC3339), d.Topic, strconv.Itoa(int(d.Partition)), strconv.FormatInt(d.Offset, 10), strconv.FormatInt(d.Position, 10),
						strconv.FormatBool(d.Missing), d.By, d.Reason, d.Lost); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}
