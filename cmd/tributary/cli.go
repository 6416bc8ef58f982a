package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/obs"
	"tributary/internal/screen"
	"tributary/queries/report"
	"tributary/sql/control"
)

// Exit codes. They are part of the interface.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // bad usage or configuration
)

// cli is what every subcommand is given.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	configFlag     string
	logLevel       string            // of --log-level; empty: the configuration's
	level          *slog.LevelVar    // of the logger that writes; it may change while members run
	origins        map[string]string // where the configuration's values are from, once it was loaded
	began          bool              // a subcommand's work began: errors are no longer usage
}

func newCLI(stdin io.Reader, stdout, stderr io.Writer, env []string) *cli {
	return &cli{stdin: stdin, stdout: stdout, stderr: stderr, env: env, level: &slog.LevelVar{}}
}

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// usage marks an error as bad usage or configuration.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{exitUsage, err}
}

// usagef is usage of a formatted error.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// errSilent ends with exit code 1 and no message: what was printed says it all.
var errSilent = errors.New("failed")

// run runs the command line and returns the exit code.
func run(ctx context.Context, c *cli, args []string) int {
	root := newRoot(c)
	root.SetArgs(args)
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	err := root.ExecuteContext(ctx)
	var code *codeError
	var unknown *report.UnknownError
	var filter *report.FilterError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSilent):
		return exitFailed
	case errors.As(err, &code):
		c.complain(err)
		return code.code
	case errors.As(err, &unknown), errors.As(err, &filter):
		c.complain(err)
		return exitUsage
	case !c.began:
		c.complain(err)
		fmt.Fprintln(c.stderr, "tributary: see tributary help")
		return exitUsage
	}
	c.complain(err)
	return exitFailed
}

// complain writes an error, each of its lines on a line of its own. What is in it
// may be of others, and be looked at later: it is made safe wherever it goes.
func (c *cli) complain(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(c.stderr, "tributary: "+screen.Text(line))
	}
}

func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "tributary",
		Short: "Ingest files that other organisations publish",
		Long: "Tributary watches SFTP and FTP servers and directories, announces what it finds on Kafka, and carries\n" +
			"every file through download, unzip, validation and ordered insertion into a warehouse.\n\n" +
			"Data goes to stdout, logs to stderr. Exit codes: 0, 1 failure, 2 bad usage or configuration.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          help,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			c.began = true
			if reason := cmd.Flags().Lookup("reason"); reason != nil {
				return usage(control.CheckReason(reason.Value.String()))
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&c.configFlag, "config", "", "configuration file (default "+config.EnvPath+", then ./"+config.DefaultPath+")")
	root.PersistentFlags().StringVar(&c.logLevel, "log-level", "", "debug, info, warn or error (default log.level)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if err.Error() == "unknown flag: --server" {
			return usagef("%s asks no server: it works where the stores are, or on this machine", cmd.CommandPath())
		}
		return err
	})
	root.AddCommand(
		newInit(c), newConfig(c), newEngines(c), newEngineClickHouse(),
		newUp(c), newRun(c), newServe(c), newTopics(c), newDLQ(c), newReplay(c), newSchemas(c), newSources(c),
		newStatus(c), newFiles(c), newDocuments(c), newCentres(c), newOwn(c), newShow(c), newWhy(c), newListing(c), newDiff(c),
		newSQL(c), newReport(c), newHistory(c), newTracker(c), newLineage(c), newWarehouse(c), newControl(c), newProfile(c), newReference(c), newBlobs(c),
		newUsers(c), newTokens(c), newAudit(c), newLoginLink(c), newNotify(c), newAdmin(c),
		newVersion(c), newDoctor(c), newHealthcheck(c),
	)
	return root
}

// group is a command that only has subcommands: without one it shows help, and
// an unknown one is an error.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: knownCommand, RunE: help}
	cmd.AddCommand(subs...)
	return cmd
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// knownCommand refuses what is no subcommand, and says what is like it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return fmt.Errorf("unknown command %q for %q; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(like, " or "))
	}
	return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
}

// load reads the configuration, with the secrets of sources.
func (c *cli) load() (config.Config, error) { return c.loadWith(config.Options{}) }

// loadWith reads the configuration; what is wrong with it is a usage error.
func (c *cli) loadWith(o config.Options) (config.Config, error) {
	o.Also = checkProfile
	c.origins = map[string]string{}
	o.Origins = c.origins
	cfg, err := config.Load(c.configPath(), c.env, o)
	if err != nil {
		return config.Config{}, usage(err)
	}
	if c.logLevel != "" {
		cfg.Log.Level = c.logLevel
		c.origins["log.level"] = "flag --log-level"
	}
	return cfg, nil
}

func (c *cli) configPath() string {
	if c.configFlag == "" {
		for _, kv := range slices.Backward(c.env) {
			if v, ok := strings.CutPrefix(kv, config.EnvPath+"="); ok && v != "" {
				return v
			}
		}
	}
	return config.Path(c.configFlag)
}

// logger writes to stderr as configured.
func (c *cli) logger(cfg config.Config) (*slog.Logger, error) {
	l, err := obs.NewLogger(c.stderr, screen.On(c.stderr) != nil, cfg.Log, c.level)
	return l, usage(err)
}

// quietLogger is for commands that ask: they say only what is wrong, unless
// debugging was asked for.
func (c *cli) quietLogger(cfg config.Config) (*slog.Logger, error) {
	if cfg.Log.Level == "info" {
		cfg.Log.Level = "warn"
	}
	return c.logger(cfg)
}
