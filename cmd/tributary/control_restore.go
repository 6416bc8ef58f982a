package main

import (
	"github.com/spf13/cobra"

	"tributary/recovery/restore"
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
		return c.open(cmd.Context(), need{Kafka: true, Postgres: true}, func(s *stores) error {
			passed, codec, err := s.decided(cmd.Context())
			if err != nil {
				return err
			}
			r := restore.Restorer{Pool: s.Control, Connect: s.Kafka, Prefix: s.cfg.Kafka.TopicPrefix, Codec: codec, Decided: passed.Chain, Retry: s.cfg.Plan.RetryFailed.D(), Log: s.log, Now: now,
				Members: []string{applicationUp, applicationRun}, Force: *force, Reason: *reason}
			report, err := r.Run(cmd.Context())
			if err != nil {
				return err
			}
			return c.tell(*output, report, report.WriteText)
		})
	}
	return cmd
}
