package enginetest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
)

func TestPostgresGivesEachTestADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 2 {
		conn, err := pgx.Connect(t.Context(), enginetest.Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE only_here (id int)"); err != nil {
			t.Errorf("the database is not fresh: %v", err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestFilledIsFilledOnceAndCopied(t *testing.T) {
	t.Parallel()
	filled := 0
	for i := range 3 {
		conn, err := pgx.Connect(t.Context(), enginetest.Filled(t, "a number", func(ctx context.Context, pool *pgxpool.Pool) error {
			filled++
			_, err := pool.Exec(ctx, "CREATE TABLE number AS SELECT 7 AS n")
			return err
		}))
		if err != nil {
			t.Fatal(err)
		}
		var sum, rows int
		if err := conn.QueryRow(t.Context(), "SELECT sum(n), count(*) FROM number").Scan(&sum, &rows); err != nil || sum != 7 || rows != 1 {
			t.Errorf("copy %d has %d rows with a sum of %d: %v", i, rows, sum, err)
		}
		if _, err := conn.Exec(t.Context(), "INSERT INTO number VALUES (8)"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if filled != 1 {
		t.Errorf("it was filled %d times", filled)
	}
}

func TestClickHouseGivesEachTestADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 2 {
		endpoint := enginetest.ClickHouse(t)
		conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Exec(t.Context(), "CREATE TABLE only_here (id UInt8) ENGINE = MergeTree ORDER BY id"); err != nil {
			t.Errorf("the database is not fresh: %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
