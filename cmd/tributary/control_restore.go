package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/restore"
	"tributary/schemas"
)

func newControl(c *cli) *cobra.Command {
	return group("control", "Bring the control plane back", newControlRestore(c))
}

func newControlRestore(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make the schema control anew from the topics, after it was lost",
		Long: "Make the schema control anew from file.discovered, status.changed and document.ordered, and from\n" +
			"download.finished as far as it is kept. What was inserted is not inserted again, and what was outstanding goes on\n" +
			"with the next tributary up, or is fetched again. Stop all members first. It refuses where control is not empty.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	force := cmd.Flags().Bool("force", false, "overwrite a control that is not empty")
	reason := cmd.Flags().String("reason", "", "why it is overwritten, for the log")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withStores(cmd.Context(), need{Kafka: true, Postgres: true}, func(cfg config.Config, s *stores) error {
			return c.restoreControl(cmd.Context(), cfg, s, *force, *reason, *output)
		})
	}
	return cmd
}

func (c *cli) restoreControl(ctx context.Context, cfg config.Config, s *stores, force bool, reason, output string) error {
	log, err := c.quietLogger(cfg)
	if err != nil {
		return err
	}
	codec, err := schemas.NewCodec()
	if err != nil {
		return err
	}
	r := restore.Restorer{Pool: s.Control, Connect: s.Kafka, Prefix: cfg.Kafka.TopicPrefix, Codec: codec, Retry: cfg.Plan.RetryFailed.D(), Log: log, Now: now,
		Force: force, Reason: reason}
	report, err := r.Run(ctx)
	if err != nil {
		return err
	}
	if output == "json" {
		return writeJSON(c.stdout, []restore.Report{report})
	}
	_, err = fmt.Fprintf(c.stdout, "control was made anew: %d sources, %d sessions, %d files with %d looks, %d versions in the order, which goes on behind position %d\n"+
		"%d files are under way and go on with tributary up; %d looks are still to be decided about; %d batches were closed whose end was lost\n",
		report.Sources, report.Sessions, report.Files, report.Looks, report.Versions, report.Position, report.Outstanding, report.Announced, report.Closed)
	if err == nil && report.Replays > 0 {
		_, err = fmt.Fprintf(c.stdout, "%d replays were under way: ask for them again\n", report.Replays)
	}
	return err
}
