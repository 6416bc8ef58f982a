package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/queries/profilecheck"
)

func newProfile(c *cli) *cobra.Command {
	return group("profile", "Look at profiles", newProfileCheck(c))
}

func newProfileCheck(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Validate a profile whole",
		Long: "Validate the profile in DIR, or the built-in one of that name: its YAML, names and examples, schemas, whether\n" +
			"the mapping fits the schemas and keeps all that they can say, the headers of its checks, and its SQL. Everything\n" +
			"that is wrong is told, with file and line. The SQL is prepared in a scratch database, on the Postgres of\n" +
			"postgres.url if that is configured, otherwise on an embedded one that is started for it; no configuration is needed.",
		Args: cobra.ExactArgs(1),
	}
	without := cmd.Flags().Bool("without-sql", false, "leave out what needs a Postgres")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fsys, err := profileFolder(args[0])
		if err != nil {
			return err
		}
		r := profilecheck.Files(fsys)
		if r.Mapping != nil && !*without {
			err := c.withScratchServer(cmd.Context(), func(dsn string) error { return r.SQL(cmd.Context(), dsn) })
			if err != nil {
				return errors.Join(r.Err(), fmt.Errorf("the SQL could not be checked: %w", err))
			}
		}
		for _, remark := range r.Remarks {
			fmt.Fprintln(c.stdout, "remark: "+remark)
		}
		if err := r.Err(); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout, r.Summary())
		for _, line := range profilecheck.Versions(r.Profile) {
			fmt.Fprintln(c.stdout, line)
		}
		if len(r.Remarks) == 0 {
			fmt.Fprintln(c.stdout, "the profile is good, and keeps all that its schemas can say")
			return nil
		}
		fmt.Fprintf(c.stdout, "the profile is good; remarks: %d\n", len(r.Remarks))
		return nil
	}
	return cmd
}

// profileFolder is the folder of a profile: a directory, or a built-in one.
func profileFolder(name string) (fs.FS, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return os.DirFS(name), nil
	case err == nil:
		return nil, usagef("%s is not a directory: name the one that holds profile.yaml", name)
	case !strings.ContainsRune(name, os.PathSeparator):
		if p, err := profile.Builtin(name); err == nil {
			return p.FS(), nil
		}
	}
	return nil, usagef("there is no directory %s, and no built-in profile of that name", name)
}

// withScratchServer calls fn with the address of a Postgres where databases can
// be made: the configured one, or one that is started in a temporary directory.
func (c *cli) withScratchServer(ctx context.Context, fn func(dsn string) error) (err error) {
	cfg, err := c.scratchConfig()
	if err != nil {
		return err
	}
	if cfg.Postgres.URL != "" {
		dsn, err := cfg.Postgres.URL.Resolve()
		if err != nil {
			return usagef("postgres.url: %w", err)
		}
		return fn(dsn)
	}
	log := slog.New(slog.DiscardHandler)
	if c.logLevel == "debug" {
		cfg.Log.Level = c.logLevel
		if log, err = c.logger(cfg); err != nil {
			return err
		}
	}
	return profilecheck.ScratchServer(ctx, cfg.EnginesDir, log, fn)
}

// scratchConfig is the configuration if there is one: this command needs none,
// and one whose profile has mistakes is good enough.
func (c *cli) scratchConfig() (config.Config, error) {
	path := c.configPath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && path == config.DefaultPath {
		return config.Default(), nil
	}
	cfg, err := config.Load(path, c.env, config.Options{WithoutSourceSecrets: true})
	return cfg, usage(err)
}
