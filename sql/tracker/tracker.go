// Package tracker holds the schema of the tracker in Postgres: where every
// file, download and document stands, as far as the topic status.changed has
// been read. It is a projection: it can be dropped and filled again, and then
// has the same rows.
package tracker

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the name of the tracker's schema.
const Schema = "tracker"

// Migrate brings the schema to the newest version.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the tracker: %w", err)
	}
	return pg.Migrate(ctx, pool, Schema, sub)
}
