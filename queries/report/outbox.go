package report

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/outbox"
)

// Outbox is what an outbox holds that the broker does not have.
type Outbox struct {
	Schema  string  `json:"schema"`
	Waiting int64   `json:"waiting"`        // events not acknowledged
	Oldest  float64 `json:"oldest_seconds"` // how long the oldest has waited
	Letters int64   `json:"dead_letters"`   // events refused for good that nobody has decided about
}

// noticeable is how long an event may wait in an outbox before anybody is told,
// in seconds.
const noticeable = 15

// ReadOutboxes returns the outboxes of schemas that hold what somebody should
// know of.
func ReadOutboxes(ctx context.Context, pools map[string]*pgxpool.Pool) ([]Outbox, error) {
	var out []Outbox
	for _, schema := range slices.Sorted(maps.Keys(pools)) {
		o := Outbox{Schema: schema}
		depth, err := outbox.Measure(ctx, pools[schema], schema)
		if err == nil {
			o.Letters, err = outbox.OpenLetters(ctx, pools[schema], schema)
		}
		if absent(err) {
			continue // nobody has made it yet, or only an older program
		}
		if err != nil {
			return nil, err
		}
		if depth.Oldest.Seconds() >= noticeable {
			o.Waiting, o.Oldest = depth.Events, depth.Oldest.Seconds()
		}
		if o.Waiting > 0 || o.Letters > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

// absent tells whether an error is that there is no such table or schema.
func absent(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "42P01" || pe.Code == "3F000")
}
