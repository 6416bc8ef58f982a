package control

import (
	"context"
	"fmt"
	"time"

	"tributary/internal/pg"
)

// Credit is what one server allows, and what of it is left.
type Credit struct {
	Server string
	Limit  int64 // sessions at once
	Free   int64 // of them, those that no job and no poll has
}

// Measures are control's state in numbers.
type Measures struct {
	Credits []Credit
	// Outstanding counts what control waits for, by what it is: polls, looks
	// (announced and not taken up), wanted (files), jobs, requested, received,
	// extracted (files), batches and sessions.
	Outstanding map[string]int64
	Sources     []Standing        // those that are not removed
	Choices     map[string]Choice // by source
}

// Measure reads the numbers for the metrics: what is outstanding by indexes that
// hold only that.
func Measure(ctx context.Context, q pg.Querier, now time.Time) (Measures, error) {
	m := Measures{Outstanding: map[string]int64{}}
	rows, err := q.Query(ctx, fmt.Sprintf(`SELECT d.server, d.allowed, `+creditSQL+`
		FROM (SELECT server, min(max_sessions) AS allowed FROM control.source WHERE state <> 'removed' GROUP BY server) d ORDER BY d.server`, "d.server"))
	if err != nil {
		return m, fmt.Errorf("measure credits: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Credit
		if err := rows.Scan(&c.Server, &c.Limit, &c.Free); err != nil {
			return m, fmt.Errorf("measure credits: %w", err)
		}
		m.Credits = append(m.Credits, c)
	}
	if err := rows.Err(); err != nil {
		return m, fmt.Errorf("measure credits: %w", err)
	}
	var polls, looks, wanted, jobs, requested, received, extracted, batches, sessions int64
	err = q.QueryRow(ctx, `SELECT
		(SELECT count(*) FROM control.poll WHERE state IN ('due','running')),
		(SELECT count(*) FROM control.look WHERE class IN ('announced','waiting')),
		(SELECT count(*) FROM control.acquisition WHERE state = 'wanted'),
		(SELECT count(*) FROM control.job), a.requested, a.received, a.extracted,
		(SELECT count(*) FROM control.batch WHERE released_at IS NULL),
		(SELECT count(*) FROM control.session WHERE closed_at IS NULL)
		FROM (SELECT count(*) FILTER (WHERE state = 'requested') AS requested, count(*) FILTER (WHERE state = 'received') AS received,
			count(*) FILTER (WHERE state = 'extracted') AS extracted
			FROM control.acquisition WHERE state IN ('requested','received','extracted')) a`).
		Scan(&polls, &looks, &wanted, &jobs, &requested, &received, &extracted, &batches, &sessions)
	if err != nil {
		return m, fmt.Errorf("measure what is outstanding: %w", err)
	}
	for what, n := range map[string]int64{"polls": polls, "looks": looks, "wanted": wanted, "jobs": jobs, "requested": requested,
		"received": received, "extracted": extracted, "batches": batches, "sessions": sessions} {
		m.Outstanding[what] = n
	}
	all, err := Standings(ctx, q)
	if err != nil {
		return m, err
	}
	for _, s := range all {
		if s.State != "removed" {
			m.Sources = append(m.Sources, s)
		}
	}
	m.Choices, err = Choices(ctx, q, now)
	return m, err
}
