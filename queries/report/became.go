package report

import (
	"context"
	"time"

	"tributary/internal/pg"
)

// Became is where a file stands that stood elsewhere at a moment of the past.
type Became struct {
	File, Action, Phase, Status string
	Exception                   *string
	Last                        *time.Time // when something last happened to it
}

// BecameOf tells where files stand which waited, by their names and actions. One that is not
// known is left out.
func BecameOf(ctx context.Context, q pg.Querier, waited []Pending) ([]Became, error) {
	names, actions := make([]string, len(waited)), make([]string, len(waited))
	for i, p := range waited {
		names[i], actions[i] = p.File, p.Action
	}
	return list[Became](ctx, q, "what became of files", `SELECT z.file_name, t.short_name, p.short_name, s.short_name, x.short_name, CASE WHEN isfinite(a.last_update) THEN a.last_update END
		FROM unnest($1::text[], $2::text[]) AS k(name, action) JOIN tracker.zip_file z ON z.file_name = k.name JOIN tracker.zip_action a ON a.zip_id = z.id
		JOIN tracker.processing_type t ON t.id = a.todo_id AND t.short_name = k.action JOIN tracker.phase p ON p.id = a.phase_id JOIN tracker.a_status s ON s.id = a.status_id
		LEFT JOIN tracker.an_exception x ON x.id = a.exception_id`, names, actions)
}
