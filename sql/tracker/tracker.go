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
	"tributary/schemas/exception"
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
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the tracker: %w", err)
	}
	if err := checkName(schema); err != nil {
		return err
	}
	if err := pg.Migrate(ctx, pool, schema, Target(schema).Files(numbered{sub})); err != nil {
		return err
	}
	return describe(ctx, pool, schema)
}

// numbered are SQL files with the numbers of the phases and statuses that they
// name.
type numbered struct{ fs.FS }

// ReadFile reads a file.
func (n numbered) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(n.FS, name)
	return []byte(schemas.Numbered(string(text))), err
}

// describe says in the rows of exceptions what this program says of them: those
// that an older one has written say nothing, or something else.
func describe(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	var names, texts []string
	for name, text := range exception.Texts() {
		names, texts = append(names, name), append(texts, text)
	}
	_, err := pool.Exec(ctx, Target(schema).SQL(`UPDATE tracker.an_exception AS x SET description = n.text FROM unnest($1::text[], $2::text[]) AS n (name, text)
		WHERE x.short_name = n.name AND x.description IS DISTINCT FROM n.text`), names, texts)
	if err != nil {
		return fmt.Errorf("describe the exceptions in %s: %w", schema, err)
	}
	return nil
}
