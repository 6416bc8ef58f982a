package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// OutboxDepth is what an outbox holds that the broker has not acknowledged.
type OutboxDepth struct {
	Events int64
	Oldest time.Duration // how long the oldest has waited, by the database's clock; 0 when there is none
}

// MeasureOutbox looks at a schema's outbox. Its rows are few: each holds
// hundreds of events, and is gone once they are acknowledged.
func MeasureOutbox(ctx context.Context, q Querier, schema string) (d OutboxDepth, err error) {
	var seconds float64
	err = q.QueryRow(ctx, `SELECT coalesce(sum(events), 0), greatest(0, coalesce(extract(epoch FROM clock_timestamp() -
		(SELECT created_at FROM `+schema+`.outbox ORDER BY id LIMIT 1)), 0))::float8 FROM `+schema+`.outbox`).Scan(&d.Events, &seconds)
	if err != nil {
		return d, fmt.Errorf("measure %s.outbox: %w", schema, err)
	}
	d.Oldest = time.Duration(seconds * float64(time.Second))
	return d, nil
}

// LeaseState is a lease as its row shows it.
type LeaseState struct {
	Name   string
	Holder string // empty when nobody holds it now
	Epoch  int64
}

// Leases lists a schema's leases.
func Leases(ctx context.Context, q Querier, schema string) ([]LeaseState, error) {
	rows, err := q.Query(ctx, "SELECT name, CASE WHEN expires_at > clock_timestamp() THEN holder ELSE '' END, epoch FROM "+schema+".lease ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("read leases of %s: %w", schema, err)
	}
	leases, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (l LeaseState, err error) {
		return l, r.Scan(&l.Name, &l.Holder, &l.Epoch)
	})
	if err != nil {
		return nil, fmt.Errorf("read leases of %s: %w", schema, err)
	}
	return leases, nil
}
