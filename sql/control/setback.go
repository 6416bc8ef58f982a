package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// What waits here waits until a moment by the clock of whoever wrote it. Where that clock
// was ahead, and was set back since, all of it would wait until the clock has come there
// again, be it an hour or a year. So whoever opens sessions looks whether the last one was
// opened later than now, and then has everything wait no longer.

// setBackSQL is true where the last session was opened after a moment, the first parameter,
// by more than clocks of members may differ.
const setBackSQL = `coalesce((SELECT opened_at FROM control.session ORDER BY number DESC LIMIT 1) > $1::timestamptz + interval '1 minute', false)`

// WaitNoLonger ends all waiting for moments that lie after now since our clock was ahead
// when they were written, and returns by how much it was, at the least; 0: it was not, or
// somebody has done it already. What is polled or fetched then, and need not be yet, costs
// no more than that. What people have named themselves, as the end of a maintenance, stays.
func WaitNoLonger(ctx context.Context, tx pgx.Tx, now time.Time) (by time.Duration, err error) {
	opened, err := pg.Maybe(ctx, tx, "see whether our clock was set back", pgx.RowTo[time.Time], "SELECT opened_at FROM control.session WHERE "+setBackSQL+" ORDER BY number DESC LIMIT 1 FOR UPDATE", now)
	if err != nil || opened == nil {
		return 0, err
	}
	for _, sql := range noLonger() {
		if _, err := tx.Exec(ctx, sql, now); err != nil {
			return 0, fmt.Errorf("wait no longer after our clock was set back: %w", err)
		}
	}
	return opened.Sub(now), nil
}

// noLonger are the statements by which nothing waits beyond a moment, their parameter. Of
// sessions the last one counts as opened then, so that it is done once. Leases hold for a
// while, as their holders may be at work and renew them.
func noLonger() []string {
	const soon = `$1::timestamptz + interval '10 minutes'`
	return []string{
		`UPDATE control.session s SET opened_at = $1 FROM (SELECT id FROM control.session WHERE closed_at IS NULL
			UNION (SELECT id FROM control.session ORDER BY number DESC LIMIT 1)) w WHERE s.id = w.id AND s.opened_at > $1`,
		`UPDATE control.batch SET opened_at = $1 WHERE released_at IS NULL AND opened_at > $1`,
		// The next window is found where one has closed.
		`UPDATE control.source SET next_due = CASE WHEN isfinite(next_due) THEN least(next_due, $1) ELSE next_due END, closes = CASE WHEN closes IS NOT NULL THEN 'epoch'::timestamptz END
			WHERE state <> 'removed' AND (next_due > $1 AND isfinite(next_due) OR closes IS NOT NULL)`,
		`UPDATE control.poll SET not_before = $1 WHERE state = 'due' AND not_before > $1`,
		`UPDATE control.poll SET lease_until = ` + soon + ` WHERE state = 'running' AND lease_until > ` + soon,
		`UPDATE control.job_session SET lease_until = ` + soon + ` WHERE lease_until > ` + soon,
		`UPDATE control.done_with_visit SET lease_until = ` + soon + ` WHERE lease_until > ` + soon,
		`UPDATE control.done_with SET not_before = $1 WHERE state IN ('due','acting') AND not_before > $1`,
		// What has not settled has to look the same for so long from now on.
		`WITH s AS (UPDATE control.hosting SET listed_at = $1 WHERE state = 'present' AND NOT settled AND listed_at > $1 RETURNING source, file, look)
			UPDATE control.look k SET listed_at = $1 FROM s WHERE (k.source, k.file, k.look) = (s.source, s.file, s.look)`,
		`UPDATE control.look SET announced_at = $1 WHERE class = 'announced' AND announced_at > $1`,
		`UPDATE control.acquisition SET not_before = $1 WHERE state = 'wanted' AND not_before > $1`,
		`UPDATE control.acquisition SET retry_at = $1 WHERE retry_at > $1`,
		`UPDATE control.acquisition SET news_at = $1 WHERE state IN ('requested','received','extracted') AND news_at > $1`,
		`UPDATE control.job SET news_at = $1 WHERE news_at > $1`,
		`UPDATE control.replay_item SET not_before = $1 WHERE state = 'waiting' AND not_before > $1`,
		`UPDATE control.blob_damage SET not_before = $1 WHERE state IN ('found','fetched') AND not_before > $1`,
	}
}
