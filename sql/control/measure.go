package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
	var err error
	if m.Credits, err = pg.List(ctx, q, "measure credits", pgx.RowToStructByName[Credit], fmt.Sprintf(`SELECT d.server, d.allowed AS "limit", `+creditSQL+` AS free
		FROM (SELECT server, min(max_sessions) AS allowed FROM control.source WHERE state <> 'removed' GROUP BY server) d ORDER BY d.server`, "d.server")); err != nil {
		return m, err
	}
	if m.Outstanding, err = pg.Map[string, int64](ctx, q, "measure what is outstanding", `SELECT 'polls', count(*) FROM control.poll WHERE state IN ('due','running')
		UNION ALL SELECT 'looks', count(*) FROM control.look WHERE class IN ('announced','waiting')
		UNION ALL SELECT 'wanted', count(*) FROM control.acquisition WHERE state = 'wanted'
		UNION ALL SELECT 'jobs', count(*) FROM control.job
		UNION ALL SELECT w.state, count(a.id) FROM unnest(ARRAY['requested','received','extracted']) w(state)
			LEFT JOIN control.acquisition a ON a.state = w.state AND a.state IN ('requested','received','extracted') GROUP BY w.state
		UNION ALL SELECT 'batches', count(*) FROM control.batch WHERE released_at IS NULL
		UNION ALL SELECT 'sessions', count(*) FROM control.session WHERE closed_at IS NULL`); err != nil {
		return m, err
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
