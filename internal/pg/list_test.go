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

// What asks for one row tells none apart from what could not be asked, and what changes rows
// tells how many.
func TestOneRow(t *testing.T) {
	pool := database(t)
	ctx := t.Context()
	for name, c := range map[string]struct {
		sql  string
		want int
		none bool
		code string
	}{
		"a row":         {sql: "SELECT 7", want: 7},
		"none":          {sql: "SELECT 7 WHERE false", none: true},
		"no such table": {sql: "SELECT FROM nowhere", code: "42P01"},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := pg.One(ctx, pool, "read numbers", pgx.RowTo[int], c.sql)
			var n int
			errRow := pg.Row(ctx, pool, "read numbers", []any{&n}, c.sql)
			maybe, errMaybe := pg.Maybe(ctx, pool, "read numbers", pgx.RowTo[int], c.sql)
			if c.none {
				if !errors.Is(err, pgx.ErrNoRows) || !errors.Is(errRow, pgx.ErrNoRows) || errMaybe != nil || maybe != nil {
					t.Errorf("no row: One %v, Row %v, Maybe %v, %v", err, errRow, maybe, errMaybe)
				}
				return
			}
			told(t, "One", err, c.code)
			told(t, "Row", errRow, c.code)
			told(t, "Maybe", errMaybe, c.code)
			if one != c.want || n != c.want || pg.Value(maybe) != c.want {
				t.Errorf("One %d, Row %d, Maybe %d, want %d", one, n, pg.Value(maybe), c.want)
			}
		})
	}
	if _, err := pg.Maybe(ctx, pool, "read numbers", pgx.RowTo[int], "SELECT generate_series(1, 2)"); !errors.Is(err, pgx.ErrTooManyRows) {
		t.Errorf("Maybe of two rows: %v", err)
	}
	names, err := pg.Map[string, int](ctx, pool, "read numbers", "SELECT * FROM (VALUES ('a', 1), ('b', 2)) v")
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 2}, names); err != nil || diff != "" {
		t.Errorf("Map: %v (-want, +got):\n%s", err, diff)
	}
	if err := pg.Exec(ctx, pool, "make numbers", "CREATE TABLE number AS SELECT generate_series(1, 3) AS n"); err != nil {
		t.Error(err)
	}
	n, err := pg.Changed(ctx, pool, "change numbers", "UPDATE number SET n = n + 1 WHERE n > $1", 1)
	if n != 2 || err != nil {
		t.Errorf("changed %d rows, %v, want 2", n, err)
	}
	told(t, "Exec", pg.Exec(ctx, pool, "read numbers", "UPDATE nowhere SET n = 1"), "42P01")
}

// A stream ends with the first error of whoever is given its rows.
func TestStream(t *testing.T) {
	pool := database(t)
	enough := errors.New("enough")
	var got []int
	err := pg.Stream(t.Context(), pool, "read numbers", pgx.RowTo[int], func(n int) error {
		if got = append(got, n); n == 2 {
			return enough
		}
		return nil
	}, "SELECT generate_series(1, 100000)")
	if diff := cmp.Diff([]int{1, 2}, got); !errors.Is(err, enough) || diff != "" {
		t.Errorf("%v (-want, +got):\n%s", err, diff)
	}
	told(t, "Stream", pg.Stream(t.Context(), pool, "read numbers", pgx.RowTo[int], func(int) error { return nil }, "SELECT 6 / (3 - g) FROM generate_series(1, 4) g"), "22012")
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
