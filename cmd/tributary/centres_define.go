package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/producers/sources"
	"tributary/sql/control"
	"tributary/web/order"
)

const centreKeysHelp = "KEY is a key of a centre as in the configuration (docs/reference/configuration.md): email=data@example.org,\n" +
	"full_name='University of California, Davis', active=false."

func newCentresAdd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add CENTRE [KEY=VALUE …]", Short: "Add a centre, while all members run",
		Long: "Add a centre beside those of the configuration and its profile. Names that speak of it are accepted from then on, and\n" +
			"sources of it can be added; no member restarts. What was refused for its centre is taken at the next poll. CENTRE is\n" +
			"how the centre stands in file names. " + centreKeysHelp,
		Args: cobra.MinimumNArgs(1),
	}
	define, server := c.definerOf("centre", cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.addByServer(cmd, server, order.Centres, args[0], args[1:])
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			return r.AddCentre(ctx, tx, args[0], args[1:], by)
		})
	}
	return cmd
}

func newCentresEdit(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit CENTRE KEY=VALUE …", Short: "Change a centre's particulars, while all members run",
		Long: "Change the particulars of a centre that was added, or that the profile brings along. Keys that are not given stay as\n" +
			"they are; KEY= without a value gives KEY its default again. With active=false its sources are polled no more. " + centreKeysHelp,
		Args: cobra.MinimumNArgs(2),
	}
	define, server := c.definerOf("centre", cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.editByServer(cmd, server, order.Centres, "", args[0], args[1:])
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			return r.EditCentre(ctx, tx, args[0], args[1:], by)
		})
	}
	return cmd
}

func newCentresRemove(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove CENTRE …", Short: "Remove centres that were added by mistake",
		Long: "Remove centres that were added and of which there is nothing: no source that belongs to them or hosts their files, and\n" +
			"no file that was ever listed. Others can be deactivated: tributary centres edit CENTRE active=false.",
		Args: cobra.MinimumNArgs(1),
	}
	define, server := c.definerOf("centre", cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.removeByServer(cmd, server, order.Centres, args)
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			return r.RemoveCentres(ctx, tx, args, by)
		})
	}
	return cmd
}

func newCentresApply(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Define centres as a file lists them, while all members run",
		Long: "Define centres as the file lists them below centres, as in the configuration: new ones are added, those that differ are\n" +
			"changed, others stay as they are, but for --prune. All are defined or none. tributary centres export writes such a file.\n" +
			"tributary sources apply reads a file with centres and sources, and without a file declares those of the configuration.",
		Args: cobra.NoArgs,
	}
	define, server := c.definerOf("centre", cmd), addServerFlags(cmd)
	file := cmd.Flags().StringP("file", "f", "", "the file; - reads stdin")
	prune := cmd.Flags().Bool("prune", false, "remove those that were added before and that the file doesn't list")
	dry := cmd.Flags().Bool("dry-run", false, "say what would change, and change nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return usagef("-f FILE is missing: the configuration's centres are declared with its sources, by tributary sources apply")
		}
		if server.given() {
			return c.applyByServer(cmd, server, order.Centres, *file, *prune, *dry)
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			name, in, _, err := c.openFile(*file)
			if err != nil {
				return nil, err
			}
			defer in.Close()
			changes, err := r.ApplyCentresFile(ctx, tx, name, in, *prune, by)
			if err == nil && *dry {
				err = errDryRun
			}
			return changes, err
		})
	}
	return cmd
}
