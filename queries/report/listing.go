package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Polled is a poll that has ended and showed something.
type Polled struct {
	At       time.Time
	Session  int64  // its number; 0: not known yet
	Complete bool   // else it broke off
	Listing  string // the blob that has what it showed; empty: none is kept
	Lacks    string // why none is kept; empty: it was not to be, or nobody knows
	Minimal  int64  // polls that came after it, up to the moment asked about, and were minimal: of them no listing is kept
}

// PolledBy returns the last poll of a source that ended no later than a moment and was
// complete, or with brokenOff showed something; nil if there was none. A source that
// the tracker doesn't know is an UnknownError.
func PolledBy(ctx context.Context, q pg.Querier, source string, at time.Time, brokenOff bool) (*Polled, error) {
	if err := Known(ctx, q, "", source); err != nil {
		return nil, err
	}
	p := &Polled{}
	err := q.QueryRow(ctx, `SELECT k.finish_time, coalesce(n.number, 0), k.counts ->> 'end' = 'complete', coalesce(k.counts ->> 'listing', ''), coalesce(k.counts ->> 'listing_not_kept', ''),
			(SELECT count(*) FROM tracker.poll_task m WHERE m.file_source_id = k.file_source_id AND m.finish_time > k.finish_time AND m.finish_time <= $2 AND m.counts ->> 'end' = 'minimal')
		FROM tracker.poll_task k LEFT JOIN tracker.crawling_session n ON n.id = k.session_id
		WHERE k.file_source_id = (SELECT id FROM tracker.file_source WHERE short_name = $1) AND k.finish_time <= $2
			AND (k.counts ->> 'end' = 'complete' OR $3 AND k.counts ->> 'end' = 'broken_off')
		ORDER BY k.finish_time DESC, k.id LIMIT 1`, source, at, brokenOff).Scan(&p.At, &p.Session, &p.Complete, &p.Listing, &p.Lacks, &p.Minimal)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the tracker how %s was listed: %w", source, err)
	}
	return p, nil
}
