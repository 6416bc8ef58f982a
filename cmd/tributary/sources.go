package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/screen"
	"tributary/internal/source"
	"tributary/queries/report"
	"tributary/schemas"
)

func newSources(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "List sources, what they show, and how their last poll ended",
		Args:  knownCommand,
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return listTracker(cmd.Context(), c, *output, report.SourceHeader(), report.Sources)
	}
	cmd.AddCommand(newSourcesCheck(c), newSourcesIgnored(c), newSourcesMaintain(c), newSourcesPoll(c), newSourcesResume(c))
	return cmd
}

// checkedStep is one step of one source's check, as -o json writes it.
type checkedStep struct {
	Source string `json:"source"`
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

func newSourcesCheck(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [SOURCE …]",
		Short: "Connect to sources and say step by step what works",
		Long:  "Connect to each source (or those named), verify the host key, log in and list the directories, and say step by step what works and what to do about what doesn't. Nothing is changed on the server. Exit code 1 when a source fails.",
		Args:  cobra.ArbitraryArgs,
	}
	output := outputFlag(cmd, "table", "json")
	timeout := cmd.Flags().Duration("timeout", time.Minute, "of one source")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		chosen, err := chooseSources(cfg, args)
		if err != nil {
			return err
		}
		failed := false
		for _, s := range chosen {
			steps, err := checkSource(cmd.Context(), cfg, s, *timeout)
			if err != nil {
				return err
			}
			failed = failed || slices.ContainsFunc(steps, func(s checkedStep) bool { return !s.OK })
			if *output == "json" {
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
	return cmd
}

func chooseSources(cfg config.Config, ids []string) ([]config.Source, error) {
	if len(cfg.Sources) == 0 {
		return nil, usagef("%s has no sources: add them below sources", cfg.Path)
	}
	if len(ids) == 0 {
		return cfg.Sources, nil
	}
	var out []config.Source
	for _, id := range ids {
		i := slices.IndexFunc(cfg.Sources, func(s config.Source) bool { return s.ID == id })
		if i < 0 {
			var known []string
			for _, s := range cfg.Sources {
				known = append(known, s.ID)
			}
			return nil, usagef("there is no source %q: configured are %s", id, strings.Join(known, ", "))
		}
		out = append(out, cfg.Sources[i])
	}
	return out, nil
}

func checkSource(ctx context.Context, cfg config.Config, s config.Source, timeout time.Duration) ([]checkedStep, error) {
	r, err := source.Remote(s, cfg.Poll.ConnectTimeout, cfg.Poll.IdleTimeout)
	if err != nil {
		return nil, usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out []checkedStep
	for _, step := range remote.Check(ctx, r, schemas.Actions()) {
		out = append(out, checkedStep{s.ID, step.Name, step.OK, step.Detail, step.Remedy})
	}
	return out, nil
}

func (c *cli) printSteps(s config.Source, steps []checkedStep) {
	fmt.Fprintf(c.stdout, "%s  %s\n", s.ID, source.Describe(s).URL)
	for _, step := range steps {
		mark := "ok    "
		if !step.OK {
			mark = "FAILED"
		}
		fmt.Fprintf(c.stdout, "  %s  %s: %s\n", mark, strings.ReplaceAll(step.Step, "_", " "), screen.Line(step.Detail))
		if step.Remedy != "" {
			fmt.Fprintf(c.stdout, "          %s\n", screen.Line(step.Remedy))
		}
	}
}
