package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/screen"
	"tributary/queries/lineage"
	"tributary/recovery/unload"
	"tributary/schemas"
	"tributary/sql/control"
)

func newWarehouseUnload(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unload FILE",
		Short: "Retract one version of a file from the warehouse",
		Long: "Retract what one version of a file has put into the warehouse, exactly: what it had superseded, deleted or\n" +
			"withdrawn holds again. The rows stay as history. It is final for these bytes: the same version does not come back,\n" +
			"another one may. FILE is the file's name, or action/name.\n\n" +
			"A running system does it; where none runs, this command runs what it takes meanwhile. Ctrl-C or the end of\n" +
			"--timeout stops the waiting only: what was asked for is done later.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "text", "json")
	u := control.Unload{}
	cmd.Flags().StringVar(&u.Action, "action", "", "add, edit or delete; needed where several files have the name")
	cmd.Flags().StringVar(&u.Archive, "version", "", "sha256 of the version, or how it begins (default: the newest that is not unloaded)")
	cmd.Flags().StringVar(&u.Reason, "reason", "", "why, for those who read it later")
	dry := cmd.Flags().Bool("dry-run", false, "only tell what would be retracted and what would hold again")
	timeout := cmd.Flags().Duration("timeout", operationTimeout, "wait at most so long until it is applied")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		u.Name, u.Action = fileAndAction(args[0], u.Action)
		if u.Action != "" && !slices.Contains(schemas.Actions(), u.Action) {
			return usagef("the action %q is not known: use %s", u.Action, strings.Join(schemas.Actions(), ", "))
		}
		u.Archive, u.By = strings.ToLower(u.Archive), requester()
		if *dry {
			return c.unloadDry(cmd.Context(), u, *output)
		}
		done, err := c.operate(cmd.Context(), *timeout, func(ctx context.Context, a *app) (control.Operation, error) {
			return unload.Request(ctx, a.stores.Control, a.stores.Warehouse, u, now())
		})
		if err != nil {
			return err
		}
		return c.writeOperation(done, *output)
	}
	return cmd
}

func (c *cli) writeOperation(done operation, output string) error {
	return c.tell(output, done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s (operation %s, position %d)\n", screen.Line(done.Message), done.Operation, done.Position)
		return err
	})
}

// unloadDry tells what an unload would do.
func (c *cli) unloadDry(ctx context.Context, u control.Unload, output string) error {
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		version, err := unload.Version(ctx, s.Control, s.Warehouse, u, now())
		if err != nil {
			return err
		}
		r, err := (&lineage.Reader{Warehouse: s.Warehouse}).Retract(ctx, version.Action, version.Name, version.Archive)
		if err != nil {
			return err
		}
		return c.tell(output, r, r.WriteText)
	})
}
