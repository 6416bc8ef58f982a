package enginetest

import (
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Outbox returns the events in a schema's outbox, oldest first.
func Outbox(t testing.TB, pool *pgxpool.Pool, schema string, codec *schemas.Codec) []schemas.Message {
	t.Helper()
	_, out := outbox(t, pool, schema, codec)
	return out
}

// Drain returns the events in a schema's outbox, oldest first, and empties it.
func Drain(t testing.TB, pool *pgxpool.Pool, schema string, codec *schemas.Codec) []schemas.Message {
	t.Helper()
	rows, out := outbox(t, pool, schema, codec)
	if err := pg.DeleteOutbox(t.Context(), pool, schema, rows); err != nil {
		t.Fatal(err)
	}
	return out
}

func outbox(t testing.TB, pool *pgxpool.Pool, schema string, codec *schemas.Codec) ([]pg.OutboxRow, []schemas.Message) {
	t.Helper()
	rows, err := pg.ReadOutbox(t.Context(), pool, schema, 0, math.MaxInt32)
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
