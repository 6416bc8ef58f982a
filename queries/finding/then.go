package finding

import (
	"context"

	"tributary/internal/pg"
	"tributary/schemas"
)

// CountsThen counts documents that stand failed for what data checks found, by the check
// of the first error, as a tracker tells. It is what events tell of findings: warnings and
// notes they don't, nor what was found beside the first.
func CountsThen(ctx context.Context, tracker pg.Querier) ([]Count, error) {
	return list[Count](ctx, tracker, schemas.Numbered(`SELECT coalesce(exception, ''), 'error', coalesce(centre, ''), count(*) FROM tracker.document
		WHERE phase_id = {phase data} AND status_id = {status failed} GROUP BY 1, 3 ORDER BY 1, count(*) DESC, 3`))
}
