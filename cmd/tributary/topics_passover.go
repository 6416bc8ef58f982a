package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/config"
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
		return c.withStores(cmd.Context(), need{Kafka: true, Postgres: true}, func(cfg config.Config, s *stores) error {
			return c.passOver(cmd.Context(), cfg, s, w, *dry, *force, *output)
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

func (c *cli) passOver(ctx context.Context, cfg config.Config, s *stores, w passover.Wish, dry, force bool, output string) error {
	log, err := c.quietLogger(cfg)
	if err != nil {
		return err
	}
	list, _, err := s.passedOver(ctx, cfg, log)
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
		if err := c.decide(ctx, cfg, s, list, found); err != nil {
			return err
		}
	}
	if output == "json" {
		return writeJSON(c.stdout, []*passover.Judgement{found})
	}
	return c.sayPassedOver(found, dry)
}

// decide makes the topic, where older programs left none, and writes the event.
func (c *cli) decide(ctx context.Context, cfg config.Config, s *stores, list *passover.List, found *passover.Judgement) error {
	client, err := s.Kafka()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := topics.Ensure(ctx, kadm.NewClient(client), cfg.Kafka); err != nil {
		return err
	}
	d := found.RecordPassedOver
	record, err := list.Codec.Encode(schemas.Message{
		ID: schemas.ID("passed_over", d.SHA256, d.GoesOn, strconv.FormatBool(d.Missing)), Topic: schemas.RecordPassedOverTopic, Key: d.Topic,
		Stage: "topics", Subject: fmt.Sprintf("%s/%d at offset %d", d.Topic, d.Partition, d.Offset), Time: now(), Body: &d,
	})
	if err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, kafka.ToKgo(cfg.Kafka.TopicPrefix, record)).FirstErr(); err != nil {
		return fmt.Errorf("write the decision: %w", err)
	}
	return nil
}

func (c *cli) sayPassedOver(found *passover.Judgement, dry bool) error {
	lines := []string{
		fmt.Sprintf("record     %s, partition %d, offset %d, %d bytes", found.Topic, found.Partition, found.Offset, found.Size),
		"sha256     " + found.SHA256,
		"says       " + found.What,
	}
	if found.Stops != "" {
		lines = append(lines, "stops      "+found.Stops)
	} else {
		lines = append(lines, "stops      nobody, as far as the topic tells")
	}
	if found.Genuine != "" {
		lines = append(lines, "given      by control: "+found.Genuine, "goes on    with a record that names "+found.GoesOn)
	}
	lines = append(lines, "lost       "+found.Lost)
	if found.Applied && !found.Missing {
		lines = append(lines, "applied    by the live warehouse, which holds it until it is made anew: tributary warehouse rebuild")
	}
	done := fmt.Sprintf("passed over by %s: %s", found.By, found.Reason)
	if dry {
		done = "would be passed over; nothing was decided"
	}
	for _, l := range append(lines, done) {
		if _, err := fmt.Fprintln(c.stdout, l); err != nil {
			return err
		}
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
		out, err := report.NewOutput(c.stdout, *output, "at", "topic", "partition", "offset", "position", "missing", "by", "reason", "lost")
		if err != nil {
			return usage(err)
		}
		return c.withKafka(cmd.Context(), func(cfg config.Config, s *stores) error {
			log, err := c.quietLogger(cfg)
			if err != nil {
				return err
			}
			list, _, err := s.passedOver(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			for _, d := range list.All() {
				if err := out.Row(d, d.At.Format(time.RFC3339), d.Topic, strconv.Itoa(int(d.Partition)), strconv.FormatInt(d.Offset, 10), strconv.FormatInt(d.Position, 10),
					strconv.FormatBool(d.Missing), d.By, d.Reason, d.Lost); err != nil {
					return err
				}
			}
			return out.Close()
		})
	}
	return cmd
}
