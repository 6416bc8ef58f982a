package pg_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/pg"
)

// Rows come in the statement's order, and whatever goes wrong, while it is sent or in
// the middle of its rows, begins with what was done and can be told apart below.
func TestListAndEach(t *testing.T) {
	pool := database(t)
	for name, c := range map[string]struct {
		sql  string
		want []int
		code string
	}{
		"some rows":             {"SELECT generate_series(1, 3)", []int{1, 2, 3}, ""},
		"none":                  {"SELECT 1 WHERE false", []int{}, ""},
		"no such table":         {"SELECT FROM nowhere", nil, "42P01"},
		"an error in its third": {"SELECT 6 / (3 - g) FROM generate_series(1, 4) g", nil, "22012"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := pg.List(t.Context(), pool, "read numbers", pgx.RowTo[int], c.sql)
			if diff := cmp.Diff(c.want, all); diff != "" {
				t.Errorf("List (-want, +got):\n%s", diff)
			}
			told(t, "List", err, c.code)
			each, n := []int{}, 0
			for err = range pg.Each(t.Context(), pool, "read numbers", []any{&n}, c.sql) {
				if err == nil {
					each = append(each, n)
				}
			}
			told(t, "Each", err, c.code)
			if diff := cmp.Diff(c.want, each); c.code == "" && diff != "" {
				t.Errorf("Each (-want, +got):\n%s", diff)
			}
		})
	}
	var text string
	for err := range pg.Each(t.Context(), pool, "read numbers", []any{&text, &text}, "SELECT 1") {
		if err == nil || !strings.HasPrefix(err.Error(), "read numbers: ") {
			t.Errorf("a row with fewer columns than targets: %v", err)
		}
	}
}

func told(t *testing.T, who string, err error, code string) {
	t.Helper()
	var answered *pgconn.PgError
	switch {
	case code == "" && err == nil:
	case !errors.As(err, &answered) || answered.Code != code || !strings.HasPrefix(err.Error(), "read numbers: "):
		t.Errorf("%s: %v, want the code %q after what was done", who, err, code)
	}
}

// Whoever has seen enough leaves the connection as it was for the next statement.
func TestEachIsLeft(t *testing.T) {
	pool := database(t)
	err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		n := 0
		for err := range pg.Each(t.Context(), tx, "read numbers", []any{&n}, "SELECT generate_series(1, 100000)") {
			if err != nil || n == 3 {
				break
			}
		}
		return tx.QueryRow(t.Context(), "SELECT $1::int + 1", n).Scan(&n)
	})
	if err != nil {
		t.Error(err)
	}
}
