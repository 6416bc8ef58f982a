package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/screen"
	"tributary/queries/doctor"
)

func newDoctor(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine everything that the configuration names, and say what to do",
		Long: "Look at everything that the configuration names, and say line by line what is well, what is not, and what to do about it:\n" +
			"secrets, certificates, directories, disks, ports; the stores' versions, rights, settings, clocks and migrations; topics,\n" +
			"the schema registry, collector and provider; and each source, as sources check does. What is broken keeps nothing else from\n" +
			"being examined. Nothing is changed, and no secret is shown. Embedded engines are asked where they run, and not started.\n\n" +
			"Exit code 0 where nothing has failed, warnings aside; 1 otherwise. The problems' names are stable.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "table", "json")
	timeout := cmd.Flags().Duration("timeout", 15*time.Second, "of each check, from 1s to 5m")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *timeout < time.Second || *timeout > 5*time.Minute {
			return usagef("--timeout %s: give each check from 1s to 5m", *timeout)
		}
		lines, err := c.examine(cmd.Context(), *timeout)
		if err != nil {
			return err
		}
		if *output == "json" {
			err = writeJSON(c.stdout, lines)
		} else {
			err = printExamined(c.stdout, lines)
		}
		if err != nil {
			return err
		}
		if !doctor.Well(lines) {
			return errSilent
		}
		return nil
	}
	return cmd
}

// examine makes the checks; a configuration that can't be used is all that there is
// to say.
func (c *cli) examine(ctx context.Context, timeout time.Duration) (lines []doctor.Line, err error) {
	cfg, err := c.loadWith(config.Options{WithoutSecrets: true})
	if err != nil {
		var coded *codeError
		if errors.As(err, &coded) {
			err = coded.err
		}
		return doctor.Invalid(err), nil
	}
	log := slog.New(slog.DiscardHandler) // what clients say stands in the lines
	if cfg.Log.Level == "debug" {
		if log, err = c.logger(cfg); err != nil {
			return nil, err
		}
	}
	var shared *engine.Shared
	defer func() {
		if shared != nil {
			err = errors.Join(err, shared.Close())
		}
	}()
	lines = doctor.Examine(ctx, doctor.Deps{
		Config: cfg, Timeout: timeout, Now: time.Now, Log: log,
		Attach: func(ctx context.Context) (engine.Endpoints, error) {
			var err error
			if shared, err = engine.Share(ctx, engineOptions(cfg, all, log), attachOnly, 0); err != nil {
				return engine.Endpoints{}, err
			}
			return shared.Endpoints, nil
		},
	})
	return lines, nil
}

// printExamined writes a line for each thing that was examined, with the remedy below
// what needs one, and how many are not well at the end.
func printExamined(w io.Writer, lines []doctor.Line) error {
	out := screen.NewWriter(w)
	failed, warnings := 0, 0
	for _, l := range lines {
		mark := string(l.State)
		switch l.State {
		case doctor.Failed:
			mark = "FAILED"
			failed++
		case doctor.Warning:
			warnings++
		}
		name := ""
		if l.Problem != "" {
			name = " (" + string(l.Problem) + ")"
		}
		out.Line("%-8s %-12s %s%s: %s", mark, l.Check, l.About, name, cmp.Or(l.Detail, "well"))
		if l.Remedy != "" {
			out.Line("%-21s %s", "", "to do: "+l.Remedy)
		}
	}
	if failed+warnings == 0 {
		out.Line("all is well")
	} else {
		out.Line("%s", fmt.Sprintf("%d failed, %d warnings", failed, warnings))
	}
	return out.Flush()
}
