package outbox

import (
	"context"
	"fmt"
	"time"

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
	err = q.QueryRow(ctx, `SELECT coalesce(sum(events), 0), greatest(0, coalesce(extract(epoch FROM clock_timestamp() -
		(SELECT created_at FROM `+schema+`.outbox ORDER BY id LIMIT 1)), 0))::float8 FROM `+schema+`.outbox`).Scan(&d.Events, &seconds)
	if err != nil {
		return d, fmt.Errorf("measure %s.outbox: %w", schema, err)
	}
	d.Oldest = time.Duration(seconds * float64(time.Second))
	return d, nil
}
