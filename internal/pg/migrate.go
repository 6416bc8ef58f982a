package pg

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

// Migrate brings one schema of the database to the newest of the given
// migrations (goose's SQL files at the root of fsys). Members that start at
// the same time take turns. The versions applied are kept in
// <schema>.schema_version. A server that is too old is refused before anything
// is made, with a *storeversion.TooOldError.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schema string, fsys fs.FS) error {
	if _, err := ServerVersion(ctx, pool); err != nil {
		return fmt.Errorf("migrate %s: %w", schema, err)
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(lockID(schema)),
		lock.WithLockTimeout(1, 300)) // asks every second: goose's own 5 s would keep members that start together apart
	if err != nil {
		return fmt.Errorf("migrate %s: %w", schema, err)
	}
	store, err := database.NewStore(database.DialectPostgres, schema+".schema_version")
	if err != nil {
		return fmt.Errorf("migrate %s: %w", schema, err)
	}
	// Creating a schema twice at the same moment can fail in Postgres even
	// with IF NOT EXISTS, so that too is done under a lock.
	if err := createSchema(ctx, pool, schema); err != nil {
		return err
	}
	p, err := goose.NewProvider("", db, fsys, goose.WithStore(store), goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate %s: %w", schema, err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", schema, err)
	}
	return nil
}

// LockSchema keeps others from making or migrating a schema until the
// transaction ends.
func LockSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	for _, id := range []int64{lockID(schema), lockID(schema) + 1} {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", id); err != nil {
			return fmt.Errorf("lock the schema %s: %w", schema, err)
		}
	}
	return nil
}

func createSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	err := InTx(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockID(schema)+1); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate %s: %w", schema, err)
	}
	return nil
}

func lockID(schema string) int64 {
	var h int64 = 7263
	for _, c := range schema {
		h = h*131 + int64(c)
	}
	return h & 0x7fffffff << 1
}
