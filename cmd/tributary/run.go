package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
)

func newRun(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "run ROLE...",
		Short: "Run one role, or several, or all, until stopped",
		Long: "Run roles until stopped. Any number of each may run, in as many processes as you like, on the same brokers and\n" +
			"databases: the addresses configured, or the engines that tributary engines serves from data_dir.\n\n" +
			"Roles: " + strings.Join(roleNames(), ", ") + "; all runs every one.\n\n" +
			"The first Ctrl-C (or SIGTERM) stops in order: no new work is taken, what is under way is finished within its\n" +
			"grace period, offsets are committed, leases and connections are given up. The second ends the process at once;\n" +
			"nothing is lost by that, some work is repeated.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := expand(args)
			if err != nil {
				return err
			}
			return c.runRoles(cmd.Context(), names, func(*config.Config) {})
		},
	}
}

// runRoles runs roles until ctx ends, with what is configured or follows from the command.
func (c *cli) runRoles(ctx context.Context, names []string, with func(*config.Config)) error {
	// Only who connects to sources needs their secrets.
	cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: !connecting(names)})
	if err != nil {
		return err
	}
	with(&cfg)
	log, err := c.logger(cfg)
	if err != nil {
		return err
	}
	n := all
	n.How, n.Application = attachOnly, applicationRun
	tuneMemory()
	a, err := newApp(ctx, cfg, log, n, false)
	if err == nil {
		a.level, a.origins = c.level, c.origins
	}
	if err != nil && ctx.Err() != nil {
		log.Info("stopped while starting")
		return nil //nolint:nilerr // an end that was asked for is no error
	}
	if err != nil {
		return err
	}
	err = a.serve(ctx, names)
	return errors.Join(err, a.Close())
}
