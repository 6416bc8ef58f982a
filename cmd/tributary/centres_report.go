package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/asof"
	"tributary/queries/centrereport"
	"tributary/web/client"
)

func newCentresReport(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report CENTRE",
		Short: "Write the report that a centre is sent about its files",
		Long: "Write what became of a centre's files: what is wrong with each in its own words, with line and column and what to\n" +
			"do about it, what is still pending and why, and what was loaded. -o html is one page that needs nothing else and\n" +
			"can be sent as it is. CENTRE is the short name; capitals don't matter. What goes beyond a limit is counted.",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, "text", "html"), addServerFlags(cmd)
	limits := centrereport.DefaultLimits()
	since := cmd.Flags().String("since", "", "only files for which something happened since: "+asof.Moments)
	cmd.Flags().IntVar(&limits.Errors, "errors", limits.Errors, "list at most so many errors of each document")
	cmd.Flags().IntVar(&limits.Files, "files", limits.Files, "list at most so many files of each sort")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o := centrereport.Options{Centre: args[0], Now: time.Now().UTC(), Limits: limits}
		if *since != "" {
			var err error
			if o.Since, err = asof.ParseMoment(*since, o.Now); err != nil {
				return usagef("--since: %w", err)
			}
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				text, err := r.CentreReport(cmd.Context(), *output, o)
				if err != nil {
					return err
				}
				_, err = io.WriteString(c.stdout, text)
				return err
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			_, _, statements, err := s.statements()
			if err != nil {
				return err
			}
			o.Explain = centrereport.Explain(statements)
			r, err := centrereport.Read(cmd.Context(), s.Tracker, s.Warehouse, o)
			if err != nil {
				return err
			}
			if *output == "html" {
				return r.WriteHTML(c.stdout)
			}
			return r.WriteText(c.stdout)
		})
	}
	return cmd
}
