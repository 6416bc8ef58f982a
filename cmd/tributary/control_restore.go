package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/recovery/restore"
	"tributary/sql/control"
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
			"with the next tributary up, or is fetched again. Stop all members first. It refuses where control is not empty,\n" +
			"and where it sees members: by their leases, their sessions in the database and their consumer groups.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	force := cmd.Flags().Bool("force", false, "overwrite a control that is not empty, beside what looks like members")
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
	passed, codec, err := s.passedOver(ctx, cfg, log)
	if err != nil {
		return err
	}
	r := restore.Restorer{Pool: s.Control, Connect: s.Kafka, Prefix: cfg.Kafka.TopicPrefix, Codec: codec, Decided: passed.Chain, Retry: cfg.Plan.RetryFailed.D(), Log: log, Now: now,
		Members: []string{applicationUp, applicationRun}, Force: force, Reason: reason}
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
	if err != nil {
		return err
	}
	return c.sayRestored(report)
}

// sayRestored says what came back of replays and decisions, and what did not.
func (c *cli) sayRestored(report restore.Report) error {
	var lines []string
	if report.Replays > 0 || report.Letters > 0 {
		lines = append(lines, fmt.Sprintf("%d replays and decisions about %d dead letters are back", report.Replays, report.Letters))
	}
	for _, r := range report.Open {
		line := fmt.Sprintf("replay %d goes on by itself: %d files that were under way are requested again", r.Number, r.Again)
		if r.State != control.ReplayRunning {
			line = fmt.Sprintf("replay %d is stopped: tributary replay resume %d requests %d files again that were under way", r.Number, r.Number, r.Again)
		}
		if r.Unknown > 0 {
			line += fmt.Sprintf("; which its other %d were, refused or not requested yet, nothing tells: ask for a new replay of them", r.Unknown)
		}
		lines = append(lines, line)
	}
	if report.LettersLost > 0 {
		lines = append(lines, fmt.Sprintf("%d decisions about dead letters could not be brought back: those letters count as open", report.LettersLost))
	}
	lines = append(lines, "polls that were under way are not brought back: the next session lists every source again")
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.stdout, line); err != nil {
			return err
		}
	}
	return nil
}
