package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/config"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/topics"
)

func newTopics(c *cli) *cobra.Command {
	return group("topics", "Look at topics, and make them", newTopicsPlan(c), newTopicsApply(c), newTopicsList(c), newTopicsTail(c), newTopicsACL(c), newTopicsPassOver(c), newTopicsPassedOver(c))
}

// withAdmin opens the broker for a command that asks it with an admin client.
func (c *cli) withAdmin(ctx context.Context, fn func(ctx context.Context, admin *kadm.Client, cfg config.Kafka) error) error {
	return c.open(ctx, need{Kafka: true}, func(s *stores) error {
		client, err := s.Kafka()
		if err != nil {
			return err
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return fn(ctx, kadm.NewClient(client), s.cfg.Kafka)
	})
}

func newTopicsPlan(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Compare the broker's topics with the catalogue",
		Long:  "Compare the broker's topics with the catalogue and say what apply would do and what only a person can. Exit code 1 when something differs.",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withAdmin(cmd.Context(), func(ctx context.Context, admin *kadm.Client, cfg config.Kafka) error {
			changes, err := topics.Plan(ctx, admin, cfg)
			if err != nil {
				return err
			}
			if *output == "json" {
				if err := writeJSON(c.stdout, changes); err != nil {
					return err
				}
			} else if len(changes) == 0 {
				fmt.Fprintln(c.stdout, "the topics are as they should be")
			}
			for _, change := range changes {
				if *output == "table" {
					fmt.Fprintln(c.stdout, change)
				}
			}
			if len(changes) > 0 {
				return errSilent
			}
			return nil
		})
	}
	return cmd
}

func newTopicsApply(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Make the topics that are missing",
		Long:  "Make the topics that are missing. Settings that differ are changed with --settings only; partitions and replicas are never changed. What is left for a person is said on stderr, with exit code 1.",
		Args:  cobra.NoArgs,
	}
	settings := cmd.Flags().Bool("settings", false, "also change settings that differ")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withAdmin(cmd.Context(), func(ctx context.Context, admin *kadm.Client, cfg config.Kafka) error {
			changes, err := topics.Plan(ctx, admin, cfg)
			if err != nil {
				return err
			}
			done, err := topics.Apply(ctx, admin, cfg, changes, topics.ApplyOptions{Settings: *settings})
			for _, change := range done {
				fmt.Fprintln(c.stdout, change)
			}
			if err != nil {
				return err
			}
			if len(done) == len(changes) {
				return nil
			}
			for _, change := range changes {
				if change.Manual != "" || change.Kind == topics.Setting && !*settings {
					fmt.Fprintln(c.stderr, "left: "+change.String())
				}
			}
			return errSilent
		})
	}
	return cmd
}

func newTopicsList(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the topics, and how many records they hold", Args: cobra.NoArgs}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withAdmin(cmd.Context(), func(ctx context.Context, admin *kadm.Client, cfg config.Kafka) error {
			infos, err := topics.List(ctx, admin, cfg)
			if err != nil {
				return err
			}
			if *output == "json" {
				return writeJSON(c.stdout, infos)
			}
			var rows [][]string
			for _, i := range infos {
				partitions, records := strconv.Itoa(i.Partitions), strconv.FormatInt(i.Records, 10)
				if !i.Exists {
					partitions, records = "missing", ""
				}
				rows = append(rows, []string{i.Name, partitions, records, i.Kept, i.Key, strings.Join(i.ProducedBy, ","), strings.Join(i.ReadBy, ",")})
			}
			return report.WriteTable(c.stdout, []string{"TOPIC", "PARTITIONS", "RECORDS", "KEPT", "KEY", "PRODUCED BY", "READ BY"}, rows)
		})
	}
	return cmd
}

func newTopicsTail(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail [TOPIC …]",
		Short: "Show events, decoded",
		Long: "Show events, decoded: the newest 20 of all topics, or of those that are named (as status.changed, or by their full names).\n" +
			"With --from, everything since then: start, or a moment:\n" +
			asof.Moments + ".",
		Args: cobra.ArbitraryArgs,
	}
	output := outputFlag(cmd, "table", "json")
	var o topics.TailOptions
	cmd.Flags().IntVarP(&o.Last, "last", "n", 20, "how many of the newest; 0: all")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on with what comes, until stopped")
	cmd.Flags().StringVar(&o.Key, "key", "", "only events with this key")
	from := cmd.Flags().String("from", "", "start, or a moment, such as 1h for an hour ago; then --last counts only if it is given")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Topics = args
		if *from != "" {
			at, err := parseFrom(*from, time.Now())
			if err != nil {
				return usage(err)
			}
			o.From = at
			if !cmd.Flags().Changed("last") {
				o.Last = 0
			}
		}
		enc := report.NewEncoder(c.stdout)
		return c.open(cmd.Context(), need{Kafka: true}, func(s *stores) error {
			o.Prefix = s.cfg.Kafka.TopicPrefix
			_, codec, err := s.decided(cmd.Context())
			if err != nil {
				return err
			}
			return topics.Tail(cmd.Context(), s.Kafka, codec, o, func(e topics.Event) error {
				if *output == "json" {
					return enc.Encode(e)
				}
				_, err := fmt.Fprintln(c.stdout, e)
				return err
			})
		})
	}
	return cmd
}

// parseFrom reads start, or a moment.
func parseFrom(s string, now time.Time) (time.Time, error) {
	if s == "start" {
		return time.UnixMilli(0), nil
	}
	at, err := asof.ParseMoment(s, now)
	if err != nil {
		return at, fmt.Errorf("--from: %w, or start", err)
	}
	return at, nil
}
