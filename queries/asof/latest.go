package asof

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Told is an event, with its id.
type Told struct {
	Event

	ID string
}

// Latest are the last events of the live run, and of what belongs to no run, that were
// told after a moment and meet a condition on the history's rows; the newest first, at
// most limit. One that the history has twice may come twice.
func (r *Reader) Latest(ctx context.Context, after time.Time, limit int, where string, args ...any) ([]Told, error) {
	// The newest are found first, by little of each.
	rows, err := r.History.Query(r.reading(ctx), "SELECT event_id, "+columns+` FROM event WHERE (topic, partition, offset) IN (
			SELECT topic, partition, offset FROM event WHERE unreadable = '' AND shadow = 0 AND time > `+microseconds+" AND ("+where+`)
			ORDER BY time DESC, topic, partition, offset DESC LIMIT `+strconv.Itoa(limit)+`)
		ORDER BY time DESC, topic, partition, offset DESC`, append([]any{after.UnixMicro()}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer rows.Close()
	var out []Told
	for rows.Next() {
		r, id := &row{}, uuid.UUID{}
		if err := rows.Scan(append([]any{&id}, r.targets()...)...); err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
		out = append(out, Told{r.event().Event, id.String()})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return out, nil
}
