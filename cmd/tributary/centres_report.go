package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/queries/asof"
	"tributary/queries/centrereport"
	"tributary/schemas/exception"
	"tributary/sql/warehouse"
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
	output := outputFlag(cmd, "text", "html")
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
		return c.withStores(cmd.Context(), need{Postgres: true}, func(cfg config.Config, s *stores) error {
			var err error
			if o.Explain, err = explainer(cfg); err != nil {
				return err
			}
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

// explainer says what the names of exceptions and findings mean.
func explainer(cfg config.Config) (func(string) centrereport.Advice, error) {
	p, err := loadProfile(cfg)
	if err != nil {
		return nil, usage(err)
	}
	statements, err := warehouse.Load(p.FS())
	if err != nil {
		return nil, fmt.Errorf("checks of profile %s: %w", p.Name, err)
	}
	advice := map[string]centrereport.Advice{}
	for _, e := range exception.All() {
		advice[e.Name] = centrereport.Advice{Meaning: e.Happened, Remedy: e.Do}
	}
	for _, f := range warehouse.ClaimFindings() {
		advice[f.Name] = centrereport.Advice{Meaning: f.Describes + " For example, " + f.Example}
	}
	for _, check := range statements.Checks {
		advice[check.Name] = centrereport.Advice{Meaning: check.Describes + " For example, " + check.Example}
	}
	return func(name string) centrereport.Advice { return advice[name] }, nil
}
