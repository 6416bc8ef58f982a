package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxDeclarations bounds how many replaced declarations are remembered.
const maxDeclarations = 1000

// Replaced tells since when a declaration no longer counts, as another was made
// after it; zero: it counts, or was never made.
func Replaced(ctx context.Context, tx pgx.Tx, digest string) (since time.Time, err error) {
	err = tx.QueryRow(ctx, `SELECT coalesce((SELECT n.declared_at FROM control.declaration d JOIN control.declaration n ON n.revision > d.revision
		WHERE d.digest = $1 ORDER BY n.revision LIMIT 1), '0001-01-01Z')`, digest).Scan(&since)
	if err != nil {
		return since, fmt.Errorf("look whether the configuration was replaced: %w", err)
	}
	return since.UTC(), nil
}

// Declare makes a declaration the one that counts.
func Declare(ctx context.Context, tx pgx.Tx, digest string, revision int64, now time.Time) error {
	tag, err := tx.Exec(ctx, `INSERT INTO control.declaration AS d (digest, revision, declared_at) VALUES ($1, $2, $3)
		ON CONFLICT (digest) DO UPDATE SET revision = $2, declared_at = $3 WHERE d.revision < (SELECT max(revision) FROM control.declaration)`, digest, revision, now)
	if err == nil && tag.RowsAffected() == 1 {
		_, err = tx.Exec(ctx, `DELETE FROM control.declaration WHERE revision <= (SELECT revision FROM control.declaration ORDER BY revision DESC OFFSET $1 LIMIT 1)`, maxDeclarations)
	}
	if err != nil {
		return fmt.Errorf("remember what the configuration declares: %w", err)
	}
	return nil
}
