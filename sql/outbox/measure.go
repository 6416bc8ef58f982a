package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Depth is what an outbox holds that the broker has not acknowledged.
type Depth struct {
	Events int64
	Oldest time.Duration // how long the oldest has waited, by the database's clock; 0 when there is none
}

// Measure looks at a schema's outbox. Its rows are few: each holds
// hundreds of events, and is gone once they are acknowledged.
func Measure(ctx context.Context, q pg.Querier, schema string) (d Depth, err error) {
	var seconds float64
	err = pg.Row(ctx, q, "measure "+schema+".outbox", []any{&d.Events, &seconds}, `SELECT coalesce(sum(events), 0), greatest(0, coalesce(extract(epoch FROM clock_timestamp() -
		(SELECT created_at FROM `+schema+`.outbox ORDER BY id LIMIT 1)), 0))::float8 FROM `+schema+`.outbox`)
	d.Oldest = time.Duration(seconds * float64(time.Second))
	return d, err
}

// Empty tells whether the broker has acknowledged all of a schema's outbox.
func Empty(ctx context.Context, q pg.Querier, schema string) (bool, error) {
	return pg.One(ctx, q, "look into "+schema+".outbox", pgx.RowTo[bool], "SELECT NOT EXISTS (SELECT FROM "+schema+".outbox)")
}
