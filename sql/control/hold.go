package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Hold is by whom a file is held, so that nothing of it begins.
type Hold struct {
	HeldAt          *time.Time // nil: it is not held
	HeldBy, HeldWhy string
}

// Held tells whether a person holds the file.
func (h Hold) Held() bool { return h.HeldAt != nil }

// Said is who holds the file, and why, for people.
func (h Hold) Said() string { return Decision{By: h.HeldBy, Reason: h.HeldWhy}.Said("held") }

// Said is what was done, by whom and why, for people.
func (d Decision) Said(done string) string {
	if d.Reason == "" {
		return done + " by " + d.By
	}
	return done + " by " + d.By + ": " + d.Reason
}

// StoreHold stores that a file is held, or that it is not any more. The caller has
// locked its row.
func StoreHold(ctx context.Context, tx pgx.Tx, file string, h Hold) error {
	return pg.Exec(ctx, tx, "store by whom a file is held", "UPDATE control.file SET held_at=$2, held_by=$3, held_why=$4 WHERE id=$1::text::uuid", file, h.HeldAt, pg.Text(h.HeldBy), pg.Text(h.HeldWhy))
}

// Outstanding are the acquisitions of a file that have no positions yet, in batches
// that are not out; they don't get them before the transaction ends.
func Outstanding(ctx context.Context, tx pgx.Tx, file string) (map[int64]bool, error) {
	// The lock comes in a statement of its own, as what has positions is to be
	// judged on what was committed before it.
	if _, err := tx.Exec(ctx, "SELECT 1 FROM control.batch WHERE id IN (SELECT batch FROM control.acquisition WHERE file = $1::text::uuid) ORDER BY id FOR SHARE", file); err != nil {
		return nil, fmt.Errorf("lock batches: %w", err)
	}
	out := map[int64]bool{}
	var id int64
	for err := range pg.Each(ctx, tx, "look for what has no positions", []any{&id}, `SELECT a.id FROM control.acquisition a JOIN control.batch b ON b.id = a.batch
		WHERE a.file = $1::text::uuid AND b.released_at IS NULL AND NOT a.ordered`, file) {
		if err != nil {
			return nil, err
		}
		out[id] = true
	}
	return out, nil
}

// HeldFile is a file that is held.
type HeldFile struct {
	Name, Action string
	Hold
}

// HeldFiles returns the files that are held, those held longest first, at most limit.
func HeldFiles(ctx context.Context, q pg.Querier, limit int) ([]HeldFile, error) {
	return pg.List(ctx, q, "read which files are held", pgx.RowToStructByName[HeldFile], "SELECT name, action, held_at, held_by, held_why FROM control.file WHERE held_at IS NOT NULL ORDER BY held_at, id LIMIT $1", limit)
}
