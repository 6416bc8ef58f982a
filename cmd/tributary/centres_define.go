package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/producers/sources"
	"tributary/sql/control"
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
	define := c.definerOf("centre", cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
	define := c.definerOf("centre", cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
	define := c.definerOf("centre", cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
	define := c.definerOf("centre", cmd)
	file := cmd.Flags().StringP("file", "f", "", "the file; - reads stdin")
	prune := cmd.Flags().Bool("prune", false, "remove those that were added before and that the file doesn't list")
	dry := cmd.Flags().Bool("dry-run", false, "say what would change, and change nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return usagef("-f FILE is missing: the configuration's centres are declared with its sources, by tributary sources apply")
		}
		return define(cmd.Context(), func(ctx context.Context, tx pgx.Tx, r sources.Registry, by control.Decision) ([]sources.Change, error) {
			all, err := c.readBlocks(config.Config{}, *file, config.Options{})
			if err == nil && len(all.Sources) > 0 {
				err = usagef("%s lists sources too: tributary sources apply -f %s defines both", *file, *file)
			}
			if err != nil {
				return nil, err
			}
			changes, err := r.ApplyCentres(ctx, tx, all.Centres, *prune, by)
			if err == nil && *dry {
				err = errDryRun
			}
			return changes, err
		})
	}
	return cmd
}
