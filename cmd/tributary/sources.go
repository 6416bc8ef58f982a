package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/source"
	"tributary/queries/report"
	"tributary/queries/standing"
	"tributary/schemas"
	"tributary/web/client"
)

func newSources(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "List sources, what they show, and how their last poll ended",
		Args:  knownCommand,
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, report.SourceHeader(), func(ctx context.Context, r *client.Client, each func(report.Source) error) error {
				return r.Sources(ctx, each)
			})
		}
		return listTracker(cmd.Context(), c, *output, report.SourceHeader(), report.Sources)
	}
	cmd.AddCommand(newSourcesAct(c), newSourcesAdd(c), newSourcesApply(c), newSourcesCheck(c), newSourcesEdit(c), newSourcesErrors(c), newSourcesExpect(c), newSourcesExport(c), newSourcesFind(c), newSourcesHistory(c), newSourcesIgnored(c), newSourcesMaintain(c),
		newSourcesPoll(c), newSourcesRemove(c), newSourcesResume(c), newSourcesShow(c), newSourcesTestFilter(c))
	return cmd
}

func newSourcesFind(c *cli) *cobra.Command {
	return finder(c, &cobra.Command{
		Use: "find TEXT …", Short: "List the sources whose id, centre, host, path or state has a text in it",
		Long: "List the sources of which id, centre, host, base path, state or exception of the last poll contains each of the texts;\n" +
			"capitals don't matter.",
		Args: cobra.MinimumNArgs(1),
	}, report.SourceHeader(), report.Sources, (*client.Client).Sources)
}

// checkedStep is one step of one source's check, as -o json writes it.
type checkedStep struct {
	Source string `json:"source"`
	remote.Step
}

func newSourcesCheck(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [SOURCE …]",
		Short: "Connect to sources and say step by step what works",
		Long: "Connect to each source that the configuration declares (or those named, also of those that were added, or those of a\nfile), verify the host key, log in and list the directories, and say step by step what works and what to do about what doesn't. Nothing is changed on the server. Exit code 1 when a source fails.\n" +
			"With --server the server connects, to those named, or else to all that it has.",
		Args: cobra.ArbitraryArgs,
	}
	output, server := outputFlag(cmd, "table", "json"), addServerFlags(cmd)
	file := cmd.Flags().StringP("file", "f", "", "check the sources of this file, as tributary sources apply reads it; - reads stdin")
	timeout := cmd.Flags().Duration("timeout", time.Minute, "of one source")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			if *file != "" || cmd.Flags().Changed("timeout") {
				return usagef("--file and --timeout go without --server, which checks the sources that it has, each for a minute at most")
			}
			return c.askServer(server, nil, func(r *client.Client) error { return c.checkByServer(cmd.Context(), r, *output, args) })
		}
		cfg, err := c.load()
		if err != nil {
			return err
		}
		chosen, err := c.checked(cmd.Context(), cfg, *file, args)
		if err != nil {
			return err
		}
		return c.tellChecks(*output, chosen, func(s config.Source) ([]checkedStep, error) {
			return checkSource(cmd.Context(), cfg, s, *timeout)
		})
	}
	return cmd
}

// tellChecks checks sources one after the other, and tells the steps of each.
func (c *cli) tellChecks(output string, chosen []config.Source, check func(config.Source) ([]checkedStep, error)) error {
	failed := false
	for _, s := range chosen {
		steps, err := check(s)
		if err != nil {
			return err
		}
		failed = failed || slices.ContainsFunc(steps, func(s checkedStep) bool { return !s.OK })
		if output == "json" {
			err = writeJSON(c.stdout, steps)
		} else {
			c.printSteps(s, steps)
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return errSilent
	}
	return nil
}

// checked are the sources to be checked: of a file, of the configuration, and of
// control where the configuration doesn't have them.
func (c *cli) checked(ctx context.Context, cfg config.Config, file string, ids []string) ([]config.Source, error) {
	all := cfg.Sources
	if file != "" {
		blocks, err := c.readBlocks(cfg, file, config.Options{}) // whether their centres are known is for apply
		if err != nil {
			return nil, err
		}
		all = blocks.Sources
	}
	if len(ids) == 0 {
		if len(all) == 0 {
			return nil, usagef("%s has no sources: add them below sources, or name one that was added", cmp.Or(file, cfg.Path))
		}
		return all, nil
	}
	var out []config.Source
	var others []string
	for _, id := range ids {
		if i := slices.IndexFunc(all, func(s config.Source) bool { return s.ID == id }); i >= 0 {
			out = append(out, all[i])
		} else {
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return out, nil
	}
	var configured []string
	for _, s := range all {
		configured = append(configured, s.ID)
	}
	if file != "" {
		return nil, usagef("there is no source %q in %s: it has %s", others[0], file, strings.Join(configured, ", "))
	}
	err := c.open(ctx, need{Postgres: true}, func(s *stores) error {
		known, err := knownSources(ctx, s, others)
		for _, st := range known {
			src, err := config.ParseDefinition(st.Definition)
			if err != nil {
				return err
			}
			out = append(out, src)
		}
		return err
	})
	if err != nil {
		return nil, usage(fmt.Errorf("there is no source %q: configured are %s; and none that was added: %w", others[0], strings.Join(configured, ", "), err))
	}
	return out, nil
}

// chooseSources returns the ids of all sources, or those that are named: each must
// be declared, or have been added.
func chooseSources(ctx context.Context, s *stores, ids []string) ([]string, error) {
	var others []string
	for _, id := range ids {
		if !slices.ContainsFunc(s.cfg.Sources, func(src config.Source) bool { return src.ID == id }) {
			others = append(others, id)
		}
	}
	if len(ids) > 0 && len(others) == 0 {
		return ids, nil
	}
	known, err := knownSources(ctx, s, others)
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	for _, st := range known {
		ids = append(ids, st.ID)
	}
	return ids, nil
}

func checkSource(ctx context.Context, cfg config.Config, s config.Source, timeout time.Duration) ([]checkedStep, error) {
	r, err := source.Remote(s, cfg.Poll.ConnectTimeout, cfg.Poll.IdleTimeout, cfg.Limits)
	if err != nil {
		return nil, usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out []checkedStep
	for _, step := range connectors.All().Check(ctx, r, schemas.Actions()) {
		out = append(out, checkedStep{s.ID, step})
	}
	return out, nil
}

func (c *cli) printSteps(s config.Source, steps []checkedStep) {
	fmt.Fprintf(c.stdout, "%s  %s\n", s.ID, source.Describe(s).URL)
	for _, step := range steps {
		fmt.Fprint(c.stdout, standing.StepText(step.Step))
	}
}
