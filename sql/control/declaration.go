package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// maxDeclarations bounds how many replaced declarations are remembered.
const maxDeclarations = 1000

// Replaced tells since when a declaration no longer counts, as another was made
// after it; zero: it counts, or was never made.
func Replaced(ctx context.Context, tx pgx.Tx, digest string) (since time.Time, err error) {
	since, err = pg.One(ctx, tx, "look whether the configuration was replaced", pgx.RowTo[time.Time], `SELECT coalesce((SELECT n.declared_at FROM control.declaration d JOIN control.declaration n ON n.revision > d.revision
		WHERE d.digest = $1 ORDER BY n.revision LIMIT 1), '0001-01-01Z')`, digest)
	return since.UTC(), err
}

// Declare makes a declaration the one that counts.
func Declare(ctx context.Context, tx pgx.Tx, digest string, revision int64, now time.Time) error {
	n, err := pg.Changed(ctx, tx, "remember what the configuration declares", `INSERT INTO control.declaration AS d (digest, revision, declared_at) VALUES ($1, $2, $3)
		ON CONFLICT (digest) DO UPDATE SET revision = $2, declared_at = $3 WHERE d.revision < (SELECT max(revision) FROM control.declaration)`, digest, revision, now)
	if err != nil || n == 0 {
		return err
	}
	return pg.Exec(ctx, tx, "forget what the configuration declared long ago", `DELETE FROM control.declaration WHERE revision <= (SELECT revision FROM control.declaration ORDER BY revision DESC OFFSET $1 LIMIT 1)`, maxDeclarations)
}
