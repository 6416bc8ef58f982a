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

// Stream gives each every row that a statement finds, as scan makes it, and ends at its
// first error. Another error begins with what was done.
func Stream[T any](ctx context.Context, q Querier, what string, scan pgx.RowToFunc[T], each func(T) error, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := each(row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
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

// Map returns the pairs that a statement of two columns finds, by the first.
func Map[K comparable, V any](ctx context.Context, q Querier, what, sql string, args ...any) (map[K]V, error) {
	out := map[K]V{}
	var key K
	var value V
	for err := range Each(ctx, q, what, []any{&key, &value}, sql, args...) {
		if err != nil {
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}
