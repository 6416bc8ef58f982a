package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// EnsureBatch returns the batch of a session and a domain, opening it if need
// be.
func EnsureBatch(ctx context.Context, tx pgx.Tx, session, domain string, now time.Time) (string, error) {
	id := schemas.ID("batch", session, domain)
	_, err := tx.Exec(ctx, "INSERT INTO control.batch (id, session, domain, opened_at) VALUES ($1,$2,$3,$4) ON CONFLICT DO NOTHING", id, session, domain, now)
	if err != nil {
		return "", fmt.Errorf("open batch: %w", err)
	}
	return id, nil
}

// AfterEnds does what follows when acquisitions of the given files have ended:
// versions that came after their batch was released go into a late batch of
// their domain, and the next acquisition of each file may go on. Nothing follows
// from the end of a shadow's, and nothing waits for it.
func AfterEnds(ctx context.Context, tx pgx.Tx, files []string, now time.Time) error {
	if len(files) == 0 {
		return nil
	}
	// Shared locks keep a batch from being released between this look at it
	// and the commit.
	if err := pg.Exec(ctx, tx, "lock batches", `SELECT 1 FROM control.batch WHERE id IN (SELECT batch FROM control.acquisition WHERE file = ANY($1::uuid[])) ORDER BY id FOR SHARE`, files); err != nil {
		return err
	}
	late, err := pg.List(ctx, tx, "find late files", pgx.RowToStructByName[struct{ Domain, Run string }], `SELECT DISTINCT a.domain, a.run::text FROM control.acquisition a LEFT JOIN control.batch b ON b.id = a.batch
		WHERE a.file = ANY($1::uuid[]) AND a.ended_at = $2 AND a.result = 'complete' AND NOT control.is_shadow(a.run) AND (b.id IS NULL OR b.released_at IS NOT NULL) ORDER BY 1, 2`, files, now)
	if err != nil {
		return err
	}
	for _, l := range late {
		id, err := lateBatch(ctx, tx, l.Domain, l.Run, now)
		if err != nil {
			return err
		}
		if err := pg.Exec(ctx, tx, "put files into a late batch", `UPDATE control.acquisition a SET batch = $3 WHERE a.file = ANY($1::uuid[]) AND a.ended_at = $2 AND a.result = 'complete' AND a.domain = $4 AND a.run = $5
			AND NOT EXISTS (SELECT FROM control.batch b WHERE b.id = a.batch AND b.released_at IS NULL)`, files, now, id, l.Domain, l.Run); err != nil {
			return err
		}
	}
	return pg.Exec(ctx, tx, "go on with queued files", `UPDATE control.acquisition a SET state='wanted' WHERE a.id IN (
		SELECT q.next FROM unnest($1::uuid[]) f(id) CROSS JOIN LATERAL (
			SELECT min(o.id) FILTER (WHERE o.state = 'queued') AS next, count(*) FILTER (WHERE o.state NOT IN ('queued','ended')) AS busy
			FROM control.acquisition o WHERE o.file = f.id AND NOT control.is_shadow(o.run)) q WHERE q.busy = 0)`, files)
}

// lateBatch returns the domain's open late batch of a run, opening it if need
// be, and keeps it from being released until the transaction ends. A replay has
// its own, so that what is live never waits for it nor it for what is live.
func lateBatch(ctx context.Context, tx pgx.Tx, domain, run string, now time.Time) (string, error) {
	for {
		var id string
		err := tx.QueryRow(ctx, "SELECT id::text FROM control.batch WHERE domain=$1 AND run=$2 AND session IS NULL AND released_at IS NULL FOR SHARE", domain, run).Scan(&id)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return "", fmt.Errorf("late batch of %s: %w", domain, err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO control.batch (id, domain, run, opened_at) VALUES ($1,$2,$3,$4) ON CONFLICT DO NOTHING", uuid.NewString(), domain, run, now); err != nil {
			return "", fmt.Errorf("late batch of %s: %w", domain, err)
		}
	}
}
