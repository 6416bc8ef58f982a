package insert

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/backoff"
	"tributary/internal/crashpoint"
	"tributary/internal/pg"
)

// A document that kills its member again and again must not stop insertion for
// ever. Who begins at a position notes it in a transaction of its own; progress
// and a clean stop take the note away. From the second note on, positions are
// applied one by one, each noted, so that the note ends at the culprit.

// begin notes that work on a position begins. It returns the position below
// which positions are to be applied one by one.
func (in *Inserter) begin(ctx context.Context, position int64) (int64, error) {
	var tries int
	err := in.deps.Pool.QueryRow(ctx, `INSERT INTO warehouse.try AS t (position, tries) VALUES ($1, 1)
		ON CONFLICT (position) DO UPDATE SET tries = t.tries + 1 RETURNING tries`, position).Scan(&tries)
	if err != nil {
		return 0, fmt.Errorf("note the begin of position %d: %w", position, err)
	}
	crashpoint.At("insert", "begun")
	if tries == 1 {
		return position, nil
	}
	in.deps.Log.Warn("work on a position was begun before and did not end; going on one by one", "position", position, "tries", tries)
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-in.after(backoff.Exponential{Base: deathPause, Max: deathPauseMax}.After(tries - 1)):
	}
	return position + int64(in.cfg.Batch), nil
}

// tries is how often work on a position was begun, this time included.
func (in *Inserter) tries(ctx context.Context, q pg.Querier, position int64) (int, error) {
	return pg.One(ctx, q, fmt.Sprintf("read tries of position %d", position), pgx.RowTo[int], "SELECT coalesce((SELECT tries FROM warehouse.try WHERE position = $1), 0)", position)
}

// forget takes a note away after an end that was not the position's fault. It
// works when the member is being stopped, too.
func (in *Inserter) forget(position int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return pg.Exec(ctx, in.deps.Pool, fmt.Sprintf("forget the begin of position %d", position), "UPDATE warehouse.try SET tries = tries - 1 WHERE position = $1", position)
}
