package report

import (
	"context"
	"fmt"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// Totals are how many there are of what has a page of its own.
type Totals struct {
	Files, Documents, Centres int64
	Replays                   int64 // that are under way
	Sources                   int64 // that need somebody: suspended, or with a poll that failed and is not tried again by itself
}

// ReadTotals reads the totals, from what is counted as it moves and from tables that stay
// small.
func ReadTotals(ctx context.Context, q pg.Querier) (t Totals, err error) {
	var failed []string
	if err = q.QueryRow(ctx, schemas.Numbered(`SELECT coalesce(sum(n) FILTER (WHERE what = 'file'), 0)::bigint, coalesce(sum(n) FILTER (WHERE what = 'document'), 0)::bigint,
		(SELECT count(*) FROM tracker.centre), (SELECT count(*) FROM tracker.replay WHERE status_id = {status running}), (SELECT count(*) FROM tracker.source WHERE state = 'suspended'),
		ARRAY(SELECT coalesce(exception, '') FROM tracker.source WHERE state NOT IN ('suspended', 'maintenance', 'removed') AND last_poll_status = 'failed')
		FROM tracker.standing WHERE what IN ('file', 'document')`)).Scan(&t.Files, &t.Documents, &t.Centres, &t.Replays, &t.Sources, &failed); err != nil {
		return Totals{}, fmt.Errorf("count what there is: %w", err)
	}
	for _, name := range failed {
		if exception.MoveOf(name) != exception.Nobody {
			t.Sources++
		}
	}
	return t, nil
}
