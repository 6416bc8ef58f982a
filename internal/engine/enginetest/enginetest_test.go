package enginetest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

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
