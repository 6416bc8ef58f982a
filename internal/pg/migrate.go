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

// Numbers are the numbers of the migrations at the root of fsys, in order.
func Numbers(fsys fs.FS) ([]int64, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var out []int64
	for _, name := range names { // sorted
		n, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		out = append(out, n)
	}
	return out, nil
}

// Applied are the numbers of the migrations that a schema has had, in order; none
// if it is not there.
func Applied(ctx context.Context, q Querier, schema string) ([]int64, error) {
	var there bool
	if err := q.QueryRow(ctx, "SELECT pg_catalog.to_regclass($1) IS NOT NULL", schema+".schema_version").Scan(&there); err != nil || !there {
		return nil, err
	}
	return List(ctx, q, "migrations of "+schema, pgx.RowTo[int64], "SELECT DISTINCT version_id FROM "+schema+".schema_version WHERE is_applied AND version_id > 0 ORDER BY 1")
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
