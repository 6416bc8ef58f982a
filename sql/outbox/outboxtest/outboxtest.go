// Package outboxtest reads outboxes in tests.
package outboxtest

import (
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
	"tributary/sql/outbox"
)

// Events returns the events in a schema's outbox, oldest first.
func Events(t testing.TB, pool *pgxpool.Pool, schema string, codec *schemas.Codec) []schemas.Message {
	t.Helper()
	_, out := read(t, pool, schema, codec)
	return out
}

// Drain returns the events in a schema's outbox, oldest first, and empties it.
func Drain(t testing.TB, pool *pgxpool.Pool, schema string, codec *schemas.Codec) []schemas.Message {
	t.Helper()
	rows, out := read(t, pool, schema, codec)
	if err := outbox.Delete(t.Context(), pool, schema, rows); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t testing.TB, pool *pgxpool.Pool, schema string, codec *schemas.Codec) ([]outbox.Row, []schemas.Message) {
	t.Helper()
	rows, err := outbox.Read(t.Context(), pool, schema, 0, math.MaxInt32)
	if err != nil {
		t.Fatal(err)
	}
	out := []schemas.Message{}
	for _, row := range rows {
		if row.Damaged != nil {
			t.Fatalf("row %d: %v", row.ID, row.Damaged)
		}
		for _, r := range row.Records {
			m, err := codec.Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return rows, out
}
