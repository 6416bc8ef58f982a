package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

const (
	// visitOver is after how long a pause a person who looks again has come back.
	visitOver = 30 * time.Minute
	// visitSeen is how often it is noted that somebody looks.
	visitSeen = time.Minute
	// visitKept is how long a visit is known.
	visitKept = 400 * 24 * time.Hour
)

// Visited notes that a person looks now, and returns when their visit before this one
// ended; nil: this is the first that is known. A visit ends with a pause of half an
// hour. Who visits first forgets visits of more than 400 days ago, a thousand at most.
func Visited(ctx context.Context, q pg.Querier, person string, now time.Time) (before *time.Time, err error) {
	person = pg.Text(person)
	type visit struct {
		SeenAt time.Time
		Before *time.Time
	}
	is, err := pg.Maybe(ctx, q, "read the last visit", pgx.RowToStructByName[visit], "SELECT seen_at, before FROM control.visit WHERE person = $1", person)
	switch {
	case err != nil:
		return nil, err
	case is != nil && now.Sub(is.SeenAt) < visitSeen:
		return is.Before, nil
	case is == nil:
		if err := pg.Exec(ctx, q, "forget old visits", "DELETE FROM control.visit WHERE person IN (SELECT person FROM control.visit WHERE seen_at < $1 LIMIT $2)", now.Add(-visitKept), mostForgotten); err != nil {
			return nil, err
		}
	}
	noted, err := pg.One(ctx, q, "note a visit", pgx.RowToStructByName[visit], `INSERT INTO control.visit AS v (person, seen_at) VALUES ($1, $2)
		ON CONFLICT (person) DO UPDATE SET seen_at = greatest(v.seen_at, $2), before = CASE WHEN $2 - v.seen_at >= $3 THEN v.seen_at ELSE v.before END
		RETURNING seen_at, before`, person, now, visitOver)
	return noted.Before, err
}
