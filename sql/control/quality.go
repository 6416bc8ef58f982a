package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Quality is what people decided last about a document's bytes.
type Quality struct {
	ID       string // follows from file, document and bytes (schemas.QualityID)
	Decision string // one of schemas.QualityDecisions; empty: nothing yet
	Revision int64  // how often something was decided
}

// LockQuality returns what was decided about a document's bytes. Nobody else decides
// about them before the transaction ends.
func LockQuality(ctx context.Context, tx pgx.Tx, id string) (Quality, error) {
	q := Quality{ID: id}
	if err := pg.Exec(ctx, tx, "lock what was decided about a document", "INSERT INTO control.quality (id, decision, revision) VALUES ($1::text::uuid, '', 0) ON CONFLICT DO NOTHING", id); err != nil {
		return q, err
	}
	err := pg.Row(ctx, tx, "read what was decided about a document", []any{&q.Decision, &q.Revision}, "SELECT decision, revision FROM control.quality WHERE id = $1::text::uuid FOR UPDATE", id)
	return q, err
}

// StoreQuality stores what is decided. The caller has locked it.
func StoreQuality(ctx context.Context, tx pgx.Tx, q Quality) error {
	return pg.Exec(ctx, tx, "store what is decided about a document", "UPDATE control.quality SET decision = $2, revision = $3 WHERE id = $1::text::uuid", q.ID, q.Decision, q.Revision)
}
