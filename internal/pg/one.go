package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// One returns what a statement finds in its only row, as scan makes it. An error begins
// with what was done, and is pgx.ErrNoRows where there is no row.
func One[T any](ctx context.Context, q Querier, what string, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err == nil {
		var one T
		if one, err = pgx.CollectOneRow(rows, scan); err == nil {
			return one, nil
		}
	}
	var none T
	return none, fmt.Errorf("%s: %w", what, err)
}

// Maybe returns what a statement finds in its only row, and nil where there is no row. An
// error begins with what was done.
func Maybe[T any](ctx context.Context, q Querier, what string, scan pgx.RowToFunc[T], sql string, args ...any) (*T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err == nil {
		var one T
		if one, err = pgx.CollectExactlyOneRow(rows, scan); err == nil {
			return &one, nil
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", what, err)
}

// Row scans the only row that a statement finds into targets. An error begins with what
// was done, and is pgx.ErrNoRows where there is no row.
func Row(ctx context.Context, q Querier, what string, targets []any, sql string, args ...any) error {
	if err := q.QueryRow(ctx, sql, args...).Scan(targets...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
