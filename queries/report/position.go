package report

import (
	"context"
	"fmt"

	"tributary/internal/pg"
)

// Position tells where the tracker stands in the log, as digits: others whenever it
// has read on. It reads a row for each partition, whatever the tracker holds.
func Position(ctx context.Context, q pg.Querier) (string, error) {
	var position string
	if err := q.QueryRow(ctx, `SELECT coalesce(sum(next_offset), 0)::text FROM tracker.consumed`).Scan(&position); err != nil {
		return "", fmt.Errorf("read where the tracker stands: %w", err)
	}
	return position, nil
}
