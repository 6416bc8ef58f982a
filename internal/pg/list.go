package pg

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
)

// List returns what a statement finds, each row as scan makes it, in the order of the
// statement. An error begins with what was done, as in "read the leases".
func List[T any](ctx context.Context, q Querier, what string, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	all, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}

// Each scans every row that a statement finds into the same targets, and yields nil after
// each. An error is yielded once, at the end, and begins with what was done.
func Each(ctx context.Context, q Querier, what string, targets []any, sql string, args ...any) iter.Seq[error] {
	return func(yield func(error) bool) {
		rows, err := q.Query(ctx, sql, args...)
		if err == nil {
			defer rows.Close()
			for rows.Next() {
				if err = rows.Scan(targets...); err != nil {
					break
				}
				if !yield(nil) {
					return
				}
			}
			if err == nil {
				err = rows.Err()
			}
		}
		if err != nil {
			yield(fmt.Errorf("%s: %w", what, err))
		}
	}
}
