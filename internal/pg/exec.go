package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Exec runs a statement of which nothing is asked but that it succeeds. An error begins
// with what was done.
func Exec(ctx context.Context, q Querier, what, sql string, args ...any) error {
	if _, err := q.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Changed runs a statement and returns how many rows it has changed.
func Changed(ctx context.Context, q Querier, what, sql string, args ...any) (int64, error) {
	tag, err := q.Exec(ctx, sql, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return tag.RowsAffected(), nil
}

// Send runs the statements of a batch, if it has any.
func Send(ctx context.Context, tx pgx.Tx, what string, b *pgx.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
