package control

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
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
	if _, err := tx.Exec(ctx, "INSERT INTO control.quality (id, decision, revision) VALUES ($1::text::uuid, '', 0) ON CONFLICT DO NOTHING", id); err != nil {
		return q, fmt.Errorf("lock what was decided about a document: %w", err)
	}
	if err := tx.QueryRow(ctx, "SELECT decision, revision FROM control.quality WHERE id = $1::text::uuid FOR UPDATE", id).Scan(&q.Decision, &q.Revision); err != nil {
		return q, fmt.Errorf("read what was decided about a document: %w", err)
	}
	return q, nil
}

// StoreQuality stores what is decided. The caller has locked it.
func StoreQuality(ctx context.Context, tx pgx.Tx, q Quality) error {
	if _, err := tx.Exec(ctx, "UPDATE control.quality SET decision = $2, revision = $3 WHERE id = $1::text::uuid", q.ID, q.Decision, q.Revision); err != nil {
		return fmt.Errorf("store what is decided about a document: %w", err)
	}
	return nil
}
