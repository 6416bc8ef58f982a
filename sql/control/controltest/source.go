package controltest

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
)

// PutSource stores a source in a change of its own, and reports whether that changed.
func PutSource(ctx context.Context, tx pgx.Tx, s control.Source) (changed bool, err error) {
	c, err := control.ChangeSources(ctx, tx, []control.Source{s})
	if err != nil {
		return false, err
	}
	return c.Put(ctx, s)
}
