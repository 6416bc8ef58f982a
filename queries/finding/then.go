package finding

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// CountsThen counts what data checks had found, as events tell of it, from the tracker of a
// moment that was made with asof.Scope.Findings: as errors, the documents that stood failed,
// by the check of the first; of warnings and notes how many were open when each centre's
// last batch ended. The order is that of Counts.
func CountsThen(ctx context.Context, tracker pg.Querier) ([]Count, error) {
	return list[Count](ctx, tracker, schemas.Numbered(`SELECT test, level, centre, findings FROM (
			SELECT coalesce(exception, '') AS test, 'error' AS level, coalesce(centre, '') AS centre, count(*) AS findings FROM tracker.document
				WHERE phase_id = {phase data} AND status_id = {status failed} GROUP BY 1, 3
			UNION ALL SELECT test, level, centre, findings FROM found WHERE level <> '') c
		ORDER BY array_position(ARRAY['error', 'warn', 'info'], level), test COLLATE "C", findings DESC, centre COLLATE "C"`))
}

// UntoldThen are the centres whose last batch end up to a moment doesn't tell of warnings
// and notes, since a program before this one applied it.
func UntoldThen(ctx context.Context, tracker pg.Querier) ([]string, error) {
	return pg.List(ctx, tracker, "read findings", pgx.RowTo[string], `SELECT centre FROM found WHERE level = '' ORDER BY centre COLLATE "C"`)
}
