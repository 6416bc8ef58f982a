package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/order"
)

const keysHelp = "KEY is a key of a source as in the configuration (docs/reference/configuration.md), VALUE is YAML:\n" +
	"url=sftp://reader@files.example.org/out, hosts='[BCM, Ucd]'. Passwords are references, file:PATH or env:NAME, which\n" +
	"each member that reaches the source resolves where it runs; relative paths are relative to the configuration.\n"

func newSourcesAdd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add SOURCE KEY=VALUE …", Short: "Add a source, while all members run",
		Long: "Add a source beside those that the configuration declares. It is polled within schedule.tick, and no member restarts.\n" + keysHelp +
			"Say first whether it can be reached: tributary sources check -f FILE.",
		Args: cobra.MinimumNArgs(1),
	}
	define, server := c.definer(cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.addByServer(cmd, server, order.Sources, args[0], args[1:])
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			return r.Add(ctx, tx, args[0], args[1:], by)
		})
	}
	return cmd
}

func newSourcesEdit(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit SOURCE KEY=VALUE …", Short: "Change how a source is defined that was added, while all members run",
		Long: "Change how a source is defined that was added with tributary sources add or apply. It is polled anew within\n" +
			"schedule.tick; what was requested before is fetched as it was defined then. KEY= without a value gives KEY its default\n" +
			"again. " + keysHelp,
		Args: cobra.MinimumNArgs(2),
	}
	define, server := c.definer(cmd), addServerFlags(cmd)
	kind := cmd.Flags().String("update", "merge", "merge: keys that are not given stay; append: lists are added to as well; replace: keys that are not given have their defaults")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(config.UpdateKinds(), *kind) {
			return usagef("--update %q is not known: use %s", *kind, strings.Join(config.UpdateKinds(), ", "))
		}
		if server.given() {
			return c.editByServer(cmd, server, order.Sources, *kind, args[0], args[1:])
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			return r.Edit(ctx, tx, args[0], *kind, args[1:], by)
		})
	}
	return cmd
}

func newSourcesRemove(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove SOURCE …", Short: "Remove sources that were added",
		Long: "Remove sources that were added with tributary sources add or apply: nothing is listed there any more, nor fetched. What\n" +
			"was loaded stays; files that wait are fetched from other sources that show them, or end as cancelled. Those that the\n" +
			"configuration declares are removed there.",
		Args: cobra.MinimumNArgs(1),
	}
	define, server := c.definer(cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.removeByServer(cmd, server, order.Sources, args)
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			return r.Remove(ctx, tx, args, by)
		})
	}
	return cmd
}

func newSourcesApply(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply", Short: "Define sources as a file lists them, while all members run",
		Long: "Define sources as the file lists them below sources, as in the configuration: new ones are added, those that differ are\n" +
			"changed, others stay as they are. So are centres that it lists below centres, before the sources. All are defined or\n" +
			"none. Relative paths are relative to the file; with --server to the server's configuration. tributary sources export\n" +
			"writes such a file.\n\n" +
			"Without -f the sources and centres of the configuration are declared now, as members with the role schedule do at\n" +
			"their start, and also if those of another configuration have replaced them.",
		Args: cobra.NoArgs,
	}
	define, server := c.definer(cmd), addServerFlags(cmd)
	file := cmd.Flags().StringP("file", "f", "", "the file; - reads stdin")
	prune := cmd.Flags().Bool("prune", false, "remove those that were added before and that the file doesn't list")
	dry := cmd.Flags().Bool("dry-run", false, "say what would change, and change nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" && *prune {
			return usagef("--prune is about a file: tributary sources apply -f FILE --prune")
		}
		if server.given() {
			return c.applyByServer(cmd, server, order.Sources, *file, *prune, *dry)
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			changes, err := c.apply(ctx, tx, r, *file, *prune, by)
			if err == nil && *dry {
				err = errDryRun
			}
			return changes, err
		})
	}
	return cmd
}

func (c *cli) apply(ctx context.Context, tx pgx.Tx, r sources.Registry, file string, prune bool, by control.Decision) ([]sources.Change, error) {
	if file == "" {
		return r.Redeclare(ctx, tx, by)
	}
	name, in, dir, err := c.openFile(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return r.ApplyFile(ctx, tx, name, in, dir, prune, by)
}

// errDryRun gives back what a change has done.
var errDryRun = errors.New("nothing is changed by a dry run")

// readBlocks reads a file of sources and centres that a person names; - is stdin.
func (c *cli) readBlocks(cfg config.Config, file string, o config.Options) (config.Blocks, error) {
	name, in, dir, err := c.openFile(file)
	if err != nil {
		return config.Blocks{}, err
	}
	defer in.Close()
	all, err := cfg.Parse(name, in, dir, o)
	return all, usage(err)
}

// openFile opens a file that a person names, - is stdin, and tells its name and the folder
// that it is in.
func (c *cli) openFile(file string) (name string, in io.ReadCloser, dir string, err error) {
	if file == "-" {
		if dir, err = os.Getwd(); err != nil {
			return "", nil, "", fmt.Errorf("this folder: %w", err)
		}
		return "stdin", io.NopCloser(c.stdin), dir, nil
	}
	if dir, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return "", nil, "", fmt.Errorf("the folder of %s: %w", file, err)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", nil, "", usage(err)
	}
	return file, f, dir, nil
}

// definer makes a change in one transaction, and tells it.
type definer func(context.Context, func(context.Context, pgx.Tx, sources.Registry, control.Decision) ([]sources.Change, error)) error

// definer adds the flags of a command that changes how sources are defined, and
// returns what makes the change, in one transaction, and tells it.
func (c *cli) definer(cmd *cobra.Command) definer {
	return c.definerOf("source", cmd)
}

// definerOf is definer of a command whose table has such a first column.
func (c *cli) definerOf(what string, cmd *cobra.Command) definer {
	output := outputFlag(cmd, report.Formats()...)
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	return func(ctx context.Context, change func(context.Context, pgx.Tx, sources.Registry, control.Decision) ([]sources.Change, error)) error {
		return c.open(ctx, need{Postgres: true}, func(s *stores) error {
			r, err := sourceRegistry(s.cfg)
			if err != nil {
				return err
			}
			var changes []sources.Change
			err = pg.InTx(ctx, s.Control, func(tx pgx.Tx) (err error) {
				changes, err = change(ctx, tx, r, control.Decision{By: requester(), Reason: *reason, At: now()})
				return err
			})
			if sources.Refused(err) {
				return usage(err)
			}
			if err != nil && !errors.Is(err, errDryRun) {
				return err
			}
			return c.listChanges(*output, what, changes)
		})
	}
}

// listChanges tells how definitions were changed, in a table with such a first column.
func (c *cli) listChanges(output, what string, changes []sources.Change) error {
	return c.list(output, []string{what, "done", "detail"}, func(row func(any, ...string) error) error {
		for _, r := range changes {
			name := cmp.Or(r.Source, r.Centre)
			if r.Source == "" && what == "source" {
				name = "centre " + name
			}
			if err := row(r, name, r.Done, r.Detail); err != nil {
				return err
			}
		}
		return nil
	})
}

// sourceRegistry changes sources by the profile that is configured.
func sourceRegistry(cfg config.Config) (sources.Registry, error) {
	p, err := loadProfile(cfg)
	if err != nil {
		return sources.Registry{}, usage(err)
	}
	out, err := controlOutbox()
	if err != nil {
		return sources.Registry{}, err
	}
	return sources.Registry{Config: cfg, Profile: p, Outbox: out, Now: now, Options: config.Options{Also: checkProfile}}, nil
}
