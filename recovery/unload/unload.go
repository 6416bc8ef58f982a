// Package unload asks for the retraction of one version of a file from the
// warehouse.
package unload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/consumers/insert"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// Request asks for an unload, of the only file that has the name if no action is
// given. One that was asked for before and is not
// applied yet is what whoever asks again means.
func Request(ctx context.Context, controls, warehouse *pgxpool.Pool, u control.Unload, now time.Time) (control.Operation, error) {
	if err := chooseAction(ctx, warehouse, &u); err != nil {
		return control.Operation{}, err
	}
	op, err := control.RequestUnload(ctx, controls, u, now)
	if !errors.Is(err, control.ErrUnknownVersion) || u.Archive != "" {
		return op, err
	}
	newest, listErr := control.Operations(ctx, controls, 1000)
	if listErr != nil {
		return op, listErr
	}
	for _, o := range newest {
		if o.What != schemas.PositionUnload || o.File != u.Name || o.Action != u.Action {
			continue
		}
		done, outcomeErr := insert.ReadOutcome(ctx, warehouse, o.ID)
		if outcomeErr != nil {
			return op, outcomeErr
		}
		if done == nil {
			return o, nil
		}
	}
	return op, err
}

// errDry ends a transaction that must not be.
var errDry = errors.New("dry run")

// Version finds which version an unload means. Asking for the unload finds it; it
// is then not asked for.
func Version(ctx context.Context, controls, warehouse *pgxpool.Pool, u control.Unload, now time.Time) (control.Unload, error) {
	if err := chooseAction(ctx, warehouse, &u); err != nil {
		return u, err
	}
	err := pg.InTx(ctx, controls, func(tx pgx.Tx) error {
		op, err := control.RequestUnload(ctx, tx, u, now)
		if err != nil {
			return err
		}
		u.Archive = op.Archive
		return errDry
	})
	if !errors.Is(err, errDry) {
		return u, err
	}
	return u, nil
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
	actions, err := pg.List(ctx, q, "look for the file", pgx.RowTo[string], "SELECT DISTINCT action FROM warehouse.document WHERE file = ANY($1) ORDER BY 1", files)
	switch {
	case err != nil:
		return err
	case len(actions) == 0:
		return fmt.Errorf("%s: %w: see tributary files", u.Name, control.ErrUnknownVersion)
	case len(actions) > 1:
		return fmt.Errorf("several files have the name %s: say --action %s", u.Name, strings.Join(actions, " or --action "))
	}
	u.Action = actions[0]
	return nil
}
