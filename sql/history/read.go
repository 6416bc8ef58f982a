package history

import (
	"context"
	"fmt"
	"iter"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Each scans every row that a statement finds into the same targets, and yields nil after
// each. An error is yielded once, at the end, and begins with what was done.
func Each(ctx context.Context, conn driver.Conn, what string, targets []any, sql string, args ...any) iter.Seq[error] {
	return func(yield func(error) bool) {
		rows, err := conn.Query(ctx, sql, args...)
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
