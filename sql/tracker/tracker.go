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
	"tributary/schemas"
	"tributary/sql/beside"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the name of the tracker's schema.
const Schema = "tracker"

// Migrate brings the schema to the newest version.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	return MigrateInto(ctx, pool, Schema)
}

// MigrateInto brings a schema of another name, made as the tracker's is, to
// the newest version. It makes the schema if there is none. The name is of
// small letters, digits and underscores.
func MigrateInto(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	return migrate(ctx, pool, schema, Target(schema))
}

// MigrateUnlogged makes such a schema whose tables need not outlive a crash of the
// database: it writes no log of them.
func MigrateUnlogged(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	target := Target(schema)
	target.Unlogged = true
	return migrate(ctx, pool, schema, target)
}

func migrate(ctx context.Context, pool *pgxpool.Pool, schema string, target beside.Target) error {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the tracker: %w", err)
	}
	if err := checkName(schema); err != nil {
		return err
	}
	return pg.Migrate(ctx, pool, schema, target.Files(numbered{sub}))
}

// numbered are SQL files with the numbers of the phases and statuses that they
// name.
type numbered struct{ fs.FS }

// ReadFile reads a file.
func (n numbered) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(n.FS, name)
	return []byte(schemas.Numbered(string(text))), err
}

// Describe says in the tracker's rows of exceptions what they mean, by their names,
// and nothing of others: an older program, or another version of the profile, has
// written something else, or nothing.
func Describe(ctx context.Context, pool *pgxpool.Pool, meanings map[string]string) error {
	var names, texts []string
	for name, text := range meanings {
		names, texts = append(names, name), append(texts, text)
	}
	_, err := pool.Exec(ctx, `UPDATE tracker.an_exception AS x SET description = d.text
		FROM tracker.an_exception o LEFT JOIN unnest($1::text[], $2::text[]) AS d (name, text) ON d.name = o.short_name
		WHERE x.id = o.id AND x.description IS DISTINCT FROM d.text`, names, texts)
	if err != nil {
		return fmt.Errorf("describe the tracker's exceptions: %w", err)
	}
	return nil
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
