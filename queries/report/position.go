package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Position tells where the tracker stands in the log, as digits: others whenever it
// has read on. It reads a row for each partition, whatever the tracker holds.
func Position(ctx context.Context, q pg.Querier) (string, error) {
	return pg.One(ctx, q, "read where the tracker stands", pgx.RowTo[string], `SELECT coalesce(sum(next_offset), 0)::text FROM tracker.consumed`)
}
