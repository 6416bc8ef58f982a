package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/consumers/insert"
	"tributary/internal/pg"
	"tributary/queries/lineage"
	"tributary/queries/report"
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
			if err := chooseAction(ctx, a.stores.Warehouse, &u); err != nil {
				return control.Operation{}, err
			}
			return requestUnload(ctx, a.stores, u)
		})
		if err != nil {
			return err
		}
		return c.writeOperation(done, *output)
	}
	return cmd
}

// requestUnload asks for an unload. One that was asked for before and is not
// applied yet is what whoever asks again means.
func requestUnload(ctx context.Context, s *stores, u control.Unload) (control.Operation, error) {
	op, err := control.RequestUnload(ctx, s.Control, u, now())
	if !errors.Is(err, control.ErrUnknownVersion) || u.Archive != "" {
		return op, err
	}
	newest, listErr := control.Operations(ctx, s.Control, 1000)
	if listErr != nil {
		return op, listErr
	}
	for _, o := range newest {
		if o.What != schemas.PositionUnload || o.File != u.Name || o.Action != u.Action {
			continue
		}
		done, outcomeErr := insert.ReadOutcome(ctx, s.Warehouse, o.ID)
		if outcomeErr != nil {
			return op, outcomeErr
		}
		if done == nil {
			return o, nil
		}
	}
	return op, err
}

func (c *cli) writeOperation(done operation, output string) error {
	if output == "json" {
		return writeJSON(c.stdout, []operation{done})
	}
	_, err := fmt.Fprintf(c.stdout, "%s (operation %s, position %d)\n", report.Plain(done.Message), done.Operation, done.Position)
	return err
}

// chooseAction fills in the action of the only file that has the name.
func chooseAction(ctx context.Context, q pg.Querier, u *control.Unload) error {
	if u.Action != "" {
		return nil
	}
	var files []string
	for _, a := range schemas.Actions() {
		files = append(files, schemas.FileID(a, u.Name))
	}
	rows, err := q.Query(ctx, "SELECT DISTINCT action FROM warehouse.document WHERE file = ANY($1) ORDER BY 1", files)
	if err != nil {
		return fmt.Errorf("look for the file: %w", err)
	}
	actions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	switch {
	case err != nil:
		return fmt.Errorf("look for the file: %w", err)
	case len(actions) == 0:
		return fmt.Errorf("%s: %w: see tributary files", u.Name, control.ErrUnknownVersion)
	case len(actions) > 1:
		return fmt.Errorf("several files have the name %s: say --action %s", u.Name, strings.Join(actions, " or --action "))
	}
	u.Action = actions[0]
	return nil
}

// errDry ends a transaction that must not be.
var errDry = errors.New("dry run")

// unloadDry tells what an unload would do.
func (c *cli) unloadDry(ctx context.Context, u control.Unload, output string) error {
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		if err := chooseAction(ctx, s.Warehouse, &u); err != nil {
			return err
		}
		// Asking for it finds the version; it is then not asked for.
		var op control.Operation
		if err := pg.InTx(ctx, s.Control, func(tx pgx.Tx) (err error) {
			if op, err = control.RequestUnload(ctx, tx, u, now()); err == nil {
				err = errDry
			}
			return err
		}); !errors.Is(err, errDry) {
			return err
		}
		r, err := (&lineage.Reader{Warehouse: s.Warehouse}).Retract(ctx, u.Action, u.Name, op.Archive)
		if err != nil {
			return err
		}
		if output == "json" {
			return writeJSON(c.stdout, []*lineage.Retraction{r})
		}
		return r.WriteText(c.stdout)
	})
}
