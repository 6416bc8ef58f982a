// Package control holds the tables and queries of the control plane: the few
// decisions that must be made once. Stages meet here and at topics only.
package control

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

// Schema is the name of the control plane's schema.
const Schema = "control"

// Migrate brings the schema to the newest version.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of control: %w", err)
	}
	return pg.Migrate(ctx, pool, Schema, sub)
}

// Migrations are the numbers of the schema's migrations that this program has, in
// order.
func Migrations() ([]int64, error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations of %s: %w", Schema, err)
	}
	return pg.Numbers(sub)
}
