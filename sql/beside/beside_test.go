package beside

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
)

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// hostile is the name of a schema that only works where names are quoted.
const hostile = `a "live" 'schema'.x`

// system is two schemas with the same objects, one beside the other.
type system struct {
	*testing.T
	pool *pgxpool.Pool
	swap Swap
}

func newSystem(t *testing.T) *system {
	t.Helper()
	s := &system{T: t, pool: database(t), swap: Swap{Live: hostile, Built: hostile + "_built", Replaced: hostile + "_replaced", Moves: []string{"queue"}}}
	for n, schema := range []string{s.swap.Live, s.swap.Built} {
		id := pgx.Identifier{schema}.Sanitize()
		s.exec(fmt.Sprintf(`CREATE SCHEMA %[1]s; CREATE TABLE %[1]s.item (id int PRIMARY KEY, name text, secret text); CREATE TABLE %[1]s.queue (n bigint);
			CREATE TABLE %[1]s.line (a text, b text); CREATE SEQUENCE %[1]s.ids; CREATE VIEW %[1]s.items AS SELECT id, name FROM %[1]s.item;
			CREATE FUNCTION %[1]s.one() RETURNS int LANGUAGE sql AS 'SELECT 1'; REVOKE ALL ON FUNCTION %[1]s.one() FROM PUBLIC;
			COMMENT ON TABLE %[1]s.item IS 'made by program %[2]d'; INSERT INTO %[1]s.queue VALUES (%[2]d)`, id, n))
	}
	return s
}

func (s *system) exec(sql string) {
	s.Helper()
	if _, err := s.pool.Exec(s.Context(), sql); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
}

func (s *system) texts(sql string, args ...any) []string {
	s.Helper()
	rows, err := s.pool.Query(s.Context(), sql, args...)
	if err != nil {
		s.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// role makes a role that ends with the test.
func (s *system) role(name string) string {
	role := fmt.Sprintf("%s_%d", name, time.Now().UnixNano())
	s.exec("CREATE ROLE " + role)
	s.Cleanup(func() {
		if _, err := s.pool.Exec(context.Background(), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil {
			s.Error(err)
		}
	})
	return role
}

func (s *system) do(then func(pgx.Tx) error) error {
	return pg.InTx(s.Context(), s.pool, func(tx pgx.Tx) error {
		if err := Lock(s.Context(), tx, s.swap.Live); err != nil {
			return err
		}
		if err := s.swap.In(s.Context(), tx); err != nil {
			return err
		}
		return then(tx)
	})
}

func committed(pgx.Tx) error { return nil }

// rightsOf are owners and grants of all that a schema has, and of what is made in
// it later.
const rightsOf = `WITH s AS (SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = $1)
	SELECT concat_ws(' ', 'schema', nspowner::regrole, nspacl) FROM s
	UNION ALL SELECT concat_ws(' ', relname, relowner::regrole, relacl) FROM pg_class, s WHERE relnamespace = s.oid AND relkind IN ('r', 'v', 'S')
	UNION ALL SELECT concat_ws(' ', relname, attname, attacl) FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid, s WHERE relnamespace = s.oid AND attacl IS NOT NULL
	UNION ALL SELECT concat_ws(' ', proname, proowner::regrole, proacl) FROM pg_proc, s WHERE pronamespace = s.oid
	UNION ALL SELECT concat_ws(' ', defaclrole::regrole, defaclobjtype, defaclacl) FROM pg_default_acl, s WHERE defaclnamespace = s.oid ORDER BY 1`

// Whoever owned something, or had a right to it, to a column, or to what is made
// later, has it afterwards; comments are those of what was built, and what moves
// keeps its rows.
func TestSwapKeepsRights(t *testing.T) {
	s := newSystem(t)
	reader, owner := s.role("reader"), s.role("owner")
	live := pgx.Identifier{hostile}.Sanitize()
	s.exec(strings.NewReplacer("LIVE", live, "READER", reader, "@OWNER", owner).Replace(`ALTER SCHEMA LIVE OWNER TO @OWNER; ALTER TABLE LIVE.item OWNER TO @OWNER; ALTER SEQUENCE LIVE.ids OWNER TO @OWNER;
		ALTER VIEW LIVE.items OWNER TO @OWNER; ALTER FUNCTION LIVE.one() OWNER TO @OWNER;
		GRANT USAGE ON SCHEMA LIVE TO READER; GRANT SELECT ON LIVE.items TO PUBLIC; GRANT SELECT (id), UPDATE (name) ON LIVE.item TO READER WITH GRANT OPTION;
		GRANT USAGE ON SEQUENCE LIVE.ids TO READER; GRANT EXECUTE ON FUNCTION LIVE.one() TO READER; GRANT DELETE ON LIVE.queue TO READER;
		ALTER DEFAULT PRIVILEGES IN SCHEMA LIVE GRANT SELECT ON TABLES TO READER; ALTER DEFAULT PRIVILEGES IN SCHEMA LIVE GRANT USAGE ON SEQUENCES TO READER WITH GRANT OPTION;
		ALTER DEFAULT PRIVILEGES IN SCHEMA LIVE GRANT EXECUTE ON FUNCTIONS TO READER; ALTER DEFAULT PRIVILEGES IN SCHEMA LIVE GRANT USAGE ON TYPES TO READER`))
	want := s.texts(rightsOf, hostile)
	if len(want) < 12 {
		t.Fatalf("only %d rights: the test shows nothing", len(want))
	}
	if err := s.do(committed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.texts(rightsOf, hostile)); diff != "" {
		t.Error(diff)
	}
	if said := s.texts("SELECT obj_description(to_regclass($1), 'pg_class')", live+".item"); said[0] != "made by program 1" {
		t.Errorf("the table is %s", said[0])
	}
	if n := s.texts("SELECT n::text FROM " + live + ".queue"); n[0] != "0" {
		t.Errorf("the queue is that of schema %s", n[0])
	}
	if left := s.texts("SELECT nspname::text FROM pg_namespace WHERE nspname LIKE $1 || '%' ORDER BY 1", hostile); len(left) != 2 {
		t.Errorf("schemas: %q", left)
	}
}

// What people have made in the live schema or on top of it is named, and nothing
// is changed.
func TestSwapRefusesStrangers(t *testing.T) {
	live := pgx.Identifier{hostile}.Sanitize()
	for _, c := range []struct{ name, sql, says string }{
		{"a table", "CREATE TABLE LIVE.theirs (n int)", "the table " + hostile + ".theirs"},
		{"a view", "CREATE VIEW LIVE.theirs AS SELECT 1 AS n", "the view " + hostile + ".theirs"},
		{"a function", "CREATE FUNCTION LIVE.theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'", "the function " + hostile + ".theirs"},
		{"a view elsewhere", "CREATE VIEW public.theirs AS SELECT * FROM LIVE.items", "the view public.theirs"},
		{"a stored view elsewhere", "CREATE MATERIALIZED VIEW public.theirs AS SELECT * FROM LIVE.item", "the view public.theirs"},
		{"a reference from elsewhere", "CREATE TABLE public.theirs (n int REFERENCES LIVE.item)", "the table public.theirs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSystem(t)
			s.exec(strings.ReplaceAll(c.sql, "LIVE", live))
			if err := s.do(committed); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want that it says %q", err, c.says)
			}
			if said := s.texts("SELECT obj_description(to_regclass($1), 'pg_class')", live+".item"); said[0] != "made by program 0" {
				t.Errorf("the table is %s", said[0])
			}
			s.swap.Own = []string{"theirs"}
			if err := s.do(committed); strings.HasPrefix(c.says, "the table "+hostile) && err != nil {
				t.Errorf("a table that may be lost: %v", err)
			}
		})
	}
}

// A swap whose process is killed before it is committed leaves the live schema.
func TestKilledSwapLeavesTheLiveSchema(t *testing.T) {
	s := newSystem(t)
	s.swap.Replaced = ""
	live := pgx.Identifier{hostile}.Sanitize()
	err := s.do(func(tx pgx.Tx) error {
		var pid uint32
		if err := tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		_, err := s.pool.Exec(t.Context(), "SELECT pg_terminate_backend($1)", pid)
		return err
	})
	if err == nil {
		t.Fatal("the swap was not killed: the test shows nothing")
	}
	if said := s.texts("SELECT obj_description(to_regclass($1), 'pg_class')", live+".item"); said[0] != "made by program 0" {
		t.Errorf("the table is %s", said[0])
	}
	if err := s.do(committed); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// One builds at a time; what builds leave is dropped before and after.
func TestRoom(t *testing.T) {
	pool := database(t)
	errBusy := errors.New("busy")
	room := Room{Pool: pool, Lock: 42, Busy: errBusy, Schemas: []string{hostile}}
	schemas := func() (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname = $1", hostile).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	build := "CREATE SCHEMA " + pgx.Identifier{hostile}.Sanitize()
	if _, err := pool.Exec(t.Context(), build); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := room.Use(ctx, func(*pgxpool.Conn) error {
		if n := schemas(); n != 0 {
			t.Error("what a killed build left is there")
		}
		if err := room.Use(t.Context(), func(*pgxpool.Conn) error { return nil }); !errors.Is(err, errBusy) {
			t.Errorf("a second build: %v", err)
		}
		_, err := pool.Exec(ctx, build)
		cancel()
		return errors.Join(err, ctx.Err())
	})
	if !errors.Is(err, context.Canceled) || schemas() != 0 {
		t.Errorf("after a build that was stopped: %v, %d schemas", err, schemas())
	}
	if err := room.Use(t.Context(), func(*pgxpool.Conn) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Rows that differ are counted and named, with a key and without.
func TestDifferences(t *testing.T) {
	s := newSystem(t)
	live, built := pgx.Identifier{s.swap.Live}.Sanitize(), pgx.Identifier{s.swap.Built}.Sanitize()
	s.exec(strings.NewReplacer("LIVE", live, "BUILT", built).Replace(`
		INSERT INTO LIVE.item VALUES (1, 'same', NULL), (2, 'a', 'x'), (3, 'extra', NULL); INSERT INTO BUILT.item VALUES (1, 'same', NULL), (2, 'b', 'x'), (4, NULL, NULL);
		INSERT INTO LIVE.line VALUES ('twice', NULL), ('twice', NULL), ('a,', 'b'); INSERT INTO BUILT.line VALUES ('a', ',b'), ('twice', NULL);
		DROP TABLE LIVE.queue; ALTER TABLE BUILT.line ADD COLUMN c int`))
	l, err := Shapes(t.Context(), s.pool, s.swap.Live)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Shapes(t.Context(), s.pool, s.swap.Built, "queue")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"item", "line"}, Names(l, b)); diff != "" {
		t.Fatal(diff)
	}
	show := func(values []*string) string {
		if values == nil {
			return "none"
		}
		var out []string
		for _, v := range values {
			if v == nil {
				out = append(out, "null")
			} else {
				out = append(out, *v)
			}
		}
		return strings.Join(out, "|")
	}
	for name, want := range map[string][]string{
		"item": {"2: 2|a|x, 2|b|x", "3: 3|extra|null, none", "4: none, 4|null|null"},
		"line": {": a,|b, none", ": none, a|,b", ": twice|null, none"},
	} {
		p := Pair{Live: s.swap.Live, Built: s.swap.Built, Table: name, Shape: l[name].Common(b[name])}
		if name == "item" {
			p.Shape = b[name]
		}
		counted, again, err := s.count(p)
		if err != nil || counted.Hash == again.Hash || counted.Rows != 3 {
			t.Errorf("%s: %+v and %+v, %v", name, counted, again, err)
		}
		n, err := p.Differ(t.Context(), s.pool)
		if err != nil || n != 3 {
			t.Errorf("%s: %d rows differ, %v", name, n, err)
		}
		got, err := p.Differences(t.Context(), s.pool, Either, 10)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, d := range got {
			texts = append(texts, d.Key+": "+show(d.Live)+", "+show(d.Built))
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if only, err := p.Differences(t.Context(), s.pool, InBuilt, 1); err != nil || len(only) != 1 || only[0].BuiltRow == "" {
			t.Errorf("%s: only one of what was built: %+v, %v", name, only, err)
		}
	}
}
