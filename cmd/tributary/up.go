package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/screen"
)

func newUp(c *cli) *cobra.Command {
	var once, strict bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in this process, engines included",
		Long: "Start the embedded engines that no address is configured for, and all roles, until stopped.\n\n" +
			"With --once: list every available source once, carry what is found to its end, wait for tracker and history,\n" +
			"print a summary and stop. No stability age is waited for, and each hosting is given its attempts within 30 s.\n\n" +
			"Exit codes: 0, every source was listed whole and every discovered file has reached an end, be it a failure; 1, not\n" +
			"(a suspended source was not listed), and the summary says which, or, with --strict, a file stands failed; 2, bad\n" +
			"usage or configuration. Ctrl-C stops in order, as with run; a second one at once.\n\n" +
			"On a terminal a live picture shows where files and documents stand, below warnings and errors; --log-level info\n" +
			"shows what happens too. Elsewhere there is only the log.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			if strict && !once {
				return usagef("--strict is about how --once ends: give both, or neither")
			}
			return c.up(cmd.Context(), cfg, once, strict)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "one session, then stop")
	cmd.Flags().BoolVar(&strict, "strict", false, "with --once: exit code 1 too while any file stands failed")
	return cmd
}

func (c *cli) up(ctx context.Context, cfg config.Config, once, strict bool) error {
	logger := c.logger
	if screen.On(c.stderr) != nil && c.logLevel == "" {
		logger = c.quietLogger // the picture tells the rest
	}
	log, err := logger(cfg)
	if err != nil {
		return err
	}
	n := all
	n.How, n.Application = startOwn, applicationUp
	tuneMemory()
	usual := cfg.Web.Listen == "" && !once
	if usual {
		cfg.Web.Listen = config.DefaultWeb
	}
	a, err := newApp(ctx, cfg, log, n, once)
	if err != nil {
		return err
	}
	a.level, a.origins = c.level, c.origins
	if !once {
		if usual {
			a.webElse = anyPort
		}
		a.terminal = screen.On(c.stderr)
		err := a.serve(ctx, roleNames(), a.showProgress(c.stderr))
		return errors.Join(err, a.Close())
	}
	err = c.once(ctx, a, strict)
	return errors.Join(err, a.Close())
}

// roundRoles are the roles of one session: it lists sources itself, and shows no pages.
func roundRoles() []string {
	return slices.DeleteFunc(roleNames(), func(name string) bool { return name == "schedule" || name == roleServe })
}

// once runs one session to its end and prints the summary.
func (c *cli) once(ctx context.Context, a *app, strict bool) error {
	roles, stop := context.WithCancel(ctx)
	defer stop()
	round := &round{a: a, started: time.Now()}
	err := a.serve(roles, roundRoles(), a.showProgress(c.stderr), func(ctx context.Context) error {
		defer stop() // the roles are not needed once the round is over
		return round.run(ctx)
	})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("stopped before the end; the next run goes on from here")
	}
	ok, err := c.summary(ctx, a, round, strict)
	if err != nil {
		return err
	}
	if !ok {
		return errSilent
	}
	return nil
}
