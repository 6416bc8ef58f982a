package report

import (
	"context"
	"fmt"

	"tributary/internal/pg"
)

// FileCounts counts the files at each phase and status, in the order of these.
func FileCounts(ctx context.Context, q pg.Querier) ([]Count, error) {
	return list[Count](ctx, q, "files", `SELECT p.short_name, s.short_name, n FROM
		(SELECT phase_id, status_id, count(*) AS n FROM tracker.zip_action GROUP BY 1, 2) a
		JOIN tracker.phase p ON p.id = phase_id JOIN tracker.a_status s ON s.id = status_id ORDER BY phase_id, status_id`)
}

// Choices are names that lists can be narrowed to.
type Choices struct {
	Centres, Sources, Exceptions []string
}

// maxChoices bounds how many of each there are.
const maxChoices = 500

// ReadChoices reads the names of centres, sources and exceptions that have been seen,
// sorted, and not more than can be chosen from.
func ReadChoices(ctx context.Context, q pg.Querier) (Choices, error) {
	var c Choices
	err := q.QueryRow(ctx, `SELECT ARRAY(SELECT short_name FROM tracker.centre ORDER BY short_name COLLATE "C" LIMIT $1), ARRAY(SELECT short_name FROM tracker.file_source ORDER BY short_name COLLATE "C" LIMIT $1),
		ARRAY(SELECT short_name FROM tracker.an_exception ORDER BY short_name COLLATE "C" LIMIT $1)`, maxChoices).Scan(&c.Centres, &c.Sources, &c.Exceptions)
	if err != nil {
		return c, fmt.Errorf("read what lists can be narrowed to: %w", err)
	}
	return c, nil
}
