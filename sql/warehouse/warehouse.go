// Package warehouse holds the tables that documents are loaded into: those that
// every warehouse has (migrations), and those that a profile declares
// (apply.go). It also reads a profile's SQL: data checks, context and overview
// (checks.go). Its schema has an outbox and a lease of its own.
package warehouse

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

//go:embed migrations/*.sql
var files embed.FS

// Schema is the name of the warehouse's schema.
const Schema = "warehouse"

// Migrate brings the tables that every warehouse has to the newest version.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the warehouse: %w", err)
	}
	return pg.Migrate(ctx, pool, Schema, sub)
}

// Migrations are the numbers of the schema's migrations that this program has, in
// order.
func Migrations() ([]int64, error) {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations of %s: %w", Schema, err)
	}
	return pg.Numbers(sub)
}
