package tracker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
)

func TestTarget(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT FROM tracker.a JOIN tracker.b":      "SELECT FROM x.a JOIN x.b",
		"COMMENT ON TABLE tracker.a IS 'tracker.a'": "COMMENT ON TABLE x.a IS 'tracker.a'",
		"'it''s tracker.a', tracker.a":              "'it''s tracker.a', x.a",
		"-- tracker's rows\ntracker.a":              "-- tracker's rows\nx.a",
		"my_tracker.a":                              "my_tracker.a",
		"tracker":                                   "tracker",
	} {
		if got := Target("x").SQL(sql); got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	for _, name := range []string{"", "a.b", "a b", "1a", "a;drop", "A", strings.Repeat("a", 60)} {
		if _, err := Statements(name); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
}

// A schema of another name has the same objects with the same comments, and
// none of them refers to the tracker's: neither by goose nor by Statements.
func TestASchemaOfAnotherName(t *testing.T) {
	pool := database(t)
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := MigrateInto(t.Context(), pool, "shadow"); err != nil {
		t.Fatal(err)
	}
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "CREATE SCHEMA inside"); err != nil {
			return err
		}
		sql, err := Statements("inside")
		if err != nil {
			return err
		}
		for _, s := range sql {
			if _, err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := objects(t, pool, Schema)
	if len(want) < 200 {
		t.Fatalf("only %d objects: the test shows nothing", len(want))
	}
	if d := cmp.Diff(want, objects(t, pool, "shadow")); d != "" {
		t.Errorf("made by goose:\n%s", d)
	}
	without := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return strings.Contains(s, "schema_version") })
	if d := cmp.Diff(without, objects(t, pool, "inside")); d != "" {
		t.Errorf("made by statements:\n%s", d)
	}
	if _, err := pool.Exec(t.Context(), "DROP SCHEMA tracker CASCADE"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, objects(t, pool, "shadow")); d != "" {
		t.Errorf("after the tracker's schema was dropped:\n%s", d)
	}
	if d := cmp.Diff(without, objects(t, pool, "inside")); d != "" {
		t.Errorf("after the tracker's schema was dropped:\n%s", d)
	}
}

// objects are tables, columns, indexes, constraints and views of a schema with
// their definitions and comments, its name replaced.
func objects(t *testing.T, pool *pgxpool.Pool, schema string) []string {
	t.Helper()
	// Definitions name the schema; comments are text.
	rows, err := pool.Query(t.Context(), `
		SELECT replace(definition, $1 || '.', ''), coalesce(comment, '') FROM (
			SELECT c.relkind::text || ' ' || c.relname || ' ' || coalesce(pg_get_viewdef(CASE WHEN c.relkind = 'v' THEN c.oid END), '')
				|| ' ' || coalesce(array_to_string(c.reloptions, ','), '') AS definition, obj_description(c.oid, 'pg_class') AS comment
			FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace
			UNION ALL
			SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' '
				|| coalesce(pg_get_expr(d.adbin, d.adrelid), ''), col_description(c.oid, a.attnum)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
			LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v')
			UNION ALL
			SELECT indexdef, NULL FROM pg_indexes WHERE schemaname = $1
			UNION ALL
			SELECT conname || ' ' || pg_get_constraintdef(oid), NULL FROM pg_constraint WHERE connamespace = $1::text::regnamespace) AS x`, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var definition, comment string
		if err := rows.Scan(&definition, &comment); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(definition, Schema+".") {
			t.Errorf("an object of %s refers to the tracker's schema: %s", schema, definition)
		}
		out = append(out, definition+" -- "+comment)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
