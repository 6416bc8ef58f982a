package report

import (
	"context"
	"time"

	"tributary/internal/pg"
)

// Received counts the files received in the span that ends at a moment, step by step. It
// reads what is of the span by index.
func Received(ctx context.Context, q pg.Querier, until time.Time, s Span) (Series, error) {
	s.Before = 0 // what is usual is not asked for
	return series(ctx, q, "files received", receivedSQL, until, s)
}

// SessionEnd is when a session was closed.
type SessionEnd struct {
	Number int64
	At     time.Time
}

// EndsAround returns the ends of the sessions next to a moment, in the order in which
// they were opened: of the last one that was closed before it, and of the first one after
// that which was closed after it; nil where there is none. Rows of sessions that were open
// at the moment are all that is read beside these.
func EndsAround(ctx context.Context, q pg.Querier, at time.Time) (before, after *SessionEnd, err error) {
	err = stream(ctx, q, "ends of sessions", `WITH b AS (SELECT number, start_time, finish_time FROM tracker.crawling_session
			WHERE start_time < $1 AND finish_time < $1 AND number IS NOT NULL ORDER BY start_time DESC LIMIT 1)
		SELECT number, finish_time FROM b
		UNION ALL (SELECT number, finish_time FROM tracker.crawling_session
			WHERE start_time > coalesce((SELECT start_time FROM b), '-infinity') AND finish_time > $1 AND number IS NOT NULL ORDER BY start_time LIMIT 1)`, []any{at}, func(e SessionEnd) error {
		if e.At.Before(at) {
			before = &e
		} else {
			after = &e
		}
		return nil
	})
	return before, after, err
}
