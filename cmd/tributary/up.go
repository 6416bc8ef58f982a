package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
)

func newUp(c *cli) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in this process, engines included",
		Long: "Start the embedded engines that no address is configured for, and all roles, until stopped.\n\n" +
			"With --once: list every available source once, carry what is found to its end, wait for tracker and history,\n" +
			"print a summary and stop. No stability age is waited for, and each hosting is given its attempts within 30 s.\n\n" +
			"Exit codes: 0, every available source was listed and every discovered file has reached an end; 1, not, and the\n" +
			"summary says which; 2, bad usage or configuration. Ctrl-C stops in order, as with run; a second one at once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			return c.up(cmd.Context(), cfg, once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "one session, then stop")
	return cmd
}

func (c *cli) up(ctx context.Context, cfg config.Config, once bool) error {
	log, err := c.logger(cfg)
	if err != nil {
		return err
	}
	n := all
	n.How, n.Application = startOwn, applicationUp
	tuneMemory()
	a, err := newApp(ctx, cfg, log, n, once)
	if err != nil {
		return err
	}
	if !once {
		log.Info("running", "roles", strings.Join(roleNames(), ","), "kafka", strings.Join(a.stores.Bootstrap, ","))
		err := a.serve(ctx, roleNames(), a.showProgress(c.stderr))
		return errors.Join(err, a.Close())
	}
	err = c.once(ctx, a)
	return errors.Join(err, a.Close())
}

// once runs one session to its end and prints the summary.
func (c *cli) once(ctx context.Context, a *app) error {
	roles, stop := context.WithCancel(ctx)
	defer stop()
	round := &round{a: a, started: time.Now()}
	err := a.serve(roles, roleNames()[1:], a.showProgress(c.stderr), func(ctx context.Context) error {
		defer stop() // the roles are not needed once the round is over
		return round.run(ctx)
	})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("stopped before the end; the next run goes on from here")
	}
	ok, err := c.summary(ctx, a, round)
	if err != nil {
		return err
	}
	if !ok {
		return errSilent
	}
	return nil
}
