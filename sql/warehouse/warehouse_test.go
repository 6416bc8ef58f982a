package warehouse

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
)

const profileYAML = `profile: %s
version: "1"
tables:
  - name: thing
    comment: things
    record: true
    columns:
      - {name: id, required: true, index: true, comment: its name}
      - {name: size, type: %s, comment: how large}
%s
  - name: part
    comment: parts of things
    parent: [thing]
    columns:
      - {name: name, comment: its name}
reference:
  - name: colour
    comment: the colours that there are
    key: [name]
    columns: [{name: name, comment: its name}]
kinds:
  - name: things
    root: things
    schema: xsd/things.xsd
    centre: things/@centre
    rows:
      - table: thing
        at: [things/thing]
        key: [id]
        values: {id: "@id", size: "@size"}
      - table: part
        at: [things/thing/part]
        values: {name: .}
`

const tablesSQL = `-- What the profile counts.
CREATE TABLE IF NOT EXISTS warehouse.tally (centre text PRIMARY KEY, things bigint NOT NULL);
COMMENT ON TABLE warehouse.tally IS 'numbers';
COMMENT ON COLUMN warehouse.tally.centre IS 'the centre';
COMMENT ON COLUMN warehouse.tally.things IS 'how many';
`

const viewsSQL = `CREATE OR REPLACE VIEW warehouse.current_thing AS SELECT id, size FROM warehouse.claimed_thing WHERE is_current;
COMMENT ON VIEW warehouse.current_thing IS 'things that there are';
CREATE OR REPLACE VIEW warehouse.large_thing AS SELECT id FROM warehouse.current_thing WHERE size > 9;
COMMENT ON VIEW warehouse.large_thing IS 'the large ones';
`

// folder is a profile's folder: its mapping, and its SQL.
func folder(name, size, more, tables, views string) fstest.MapFS {
	out := fstest.MapFS{}
	for path, text := range map[string]string{mapping.File: fmt.Sprintf(profileYAML, name, size, more), tablesFile: tables, viewsFile: views} {
		out[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func open(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "warehouse", Migrate), "test", 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func apply(t *testing.T, pool *pgxpool.Pool, fsys fs.FS) error {
	t.Helper()
	m, err := mapping.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return Apply(t.Context(), pool, fsys, m)
}

func texts(t *testing.T, pool *pgxpool.Pool, sql string) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestApply(t *testing.T) {
	pool := open(t)
	const (
		views   = "SELECT relname FROM pg_class WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'v' ORDER BY 1"
		columns = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'warehouse' AND table_name = 'thing' ORDER BY ordinal_position"
	)
	if err := apply(t, pool, folder("small", "bigint", "", tablesSQL, viewsSQL)); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, pool, views); got != "claimed_part claimed_thing current_thing large_thing" {
		t.Errorf("views %s", got)
	}
	if got := texts(t, pool, "SELECT array_to_string(tables, ' ') || '; ' || array_to_string(views, ' ') FROM warehouse.profile"); got != "part reference_colour tally thing; claimed_part claimed_thing current_thing large_thing" {
		t.Errorf("made %s", got)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO warehouse.tally VALUES ('H', 1); INSERT INTO warehouse.thing VALUES (1, 1, 1, 'x', 10);
		CREATE VIEW warehouse.mine AS SELECT * FROM warehouse.tally`); err != nil {
		t.Fatal(err)
	}
	// New columns, a new table and other views.
	more := "      - {name: weight, type: numeric, comment: how heavy}\n  - name: box\n    comment: boxes\n    columns: [{name: id, comment: its name}]"
	tables := strings.Replace(tablesSQL, "NOT NULL)", "NOT NULL, parts bigint NOT NULL DEFAULT 7)", 1) + "COMMENT ON COLUMN warehouse.tally.parts IS 'how many';\n"
	newer := folder("small", "bigint", more, tables, strings.Replace(viewsSQL, "large_thing", "huge_thing", 2))
	if err := apply(t, pool, newer); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, pool, views); got != "claimed_part claimed_thing current_thing huge_thing mine" {
		t.Errorf("views %s", got)
	}
	if got := texts(t, pool, columns); got != "position ordinal line id size weight" {
		t.Errorf("columns %s", got)
	}
	if got := texts(t, pool, "SELECT centre || things || parts FROM warehouse.tally"); got != "H17" {
		t.Errorf("rows %s", got)
	}
	if got := texts(t, pool, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'warehouse%'"); got != "warehouse" {
		t.Errorf("schemas %s", got)
	}
	for what, c := range map[string]struct {
		files fstest.MapFS
		want  []string
	}{
		"another type":     {folder("small", "text", more, tables, viewsSQL), []string{"table thing, column size: its type is bigint, not text"}},
		"a column is gone": {folder("small", "bigint", strings.Replace(more, "      - {name: weight, type: numeric, comment: how heavy}\n", "", 1), tablesSQL, viewsSQL), []string{"table thing, column weight: it is there, but no longer declared", "table tally, column parts: it is there"}},
		"a table is gone":  {folder("small", "bigint", more, "", viewsSQL), []string{"the table warehouse.tally is there, but the profile declares it no longer"}},
		"another profile":  {folder("other", "bigint", more, tables, viewsSQL), []string{"holds what the profile small declares, not other"}},
		"core's name":      {folder("small", "bigint", strings.Replace(more, "name: box", "name: claim", 1), tables, viewsSQL), []string{"declares the table warehouse.claim, which is there already"}},
		"a wrong view":     {folder("small", "bigint", more, tables, viewsSQL+"\n\nCREATE VIEW warehouse.x AS\n  SELECT nothing FROM warehouse.thing;"), []string{"sql/views.sql:8: ", `column "nothing" does not exist`}},
		"a wrong table":    {folder("small", "bigint", more, tables+"\nCREATE TABEL x;", viewsSQL), []string{"sql/tables.sql:8: ", `syntax error`}},
	} {
		err := apply(t, pool, c.files)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, and not %q", what, err, want)
			}
		}
	}
	// Nothing of that has changed anything.
	if got := texts(t, pool, views); got != "claimed_part claimed_thing current_thing huge_thing mine" {
		t.Errorf("views %s", got)
	}
	if err := apply(t, pool, newer); err != nil {
		t.Error(err)
	}
	// A view that depends on the profile's is named.
	if _, err := pool.Exec(t.Context(), "CREATE VIEW public.dependent AS SELECT * FROM warehouse.current_thing"); err != nil {
		t.Fatal(err)
	}
	newer[viewsFile] = &fstest.MapFile{Data: []byte(viewsSQL)}
	if err := apply(t, pool, newer); err == nil || !strings.Contains(err.Error(), "view dependent depends on view warehouse.current_thing") {
		t.Errorf("a dependent view: %v", err)
	}
}

// Members that start together take turns, and the second finds all done.
func TestApplyTogether(t *testing.T) {
	pool := open(t)
	fsys := folder("small", "bigint", "", tablesSQL, viewsSQL)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := apply(t, pool, fsys); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestHash(t *testing.T) {
	pool := open(t)
	fsys := folder("small", "bigint", "", tablesSQL, viewsSQL)
	if err := apply(t, pool, fsys); err != nil {
		t.Fatal(err)
	}
	m, err := mapping.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(position, ordinal int, current bool, part string) string {
		t.Helper()
		if _, err := pool.Exec(t.Context(), fmt.Sprintf(`TRUNCATE warehouse.claim, warehouse.thing, warehouse.part;
			INSERT INTO warehouse.claim VALUES (%[1]d, %[2]d, 'thing', md5('k')::uuid, 'H', '{k}', '', md5('f')::uuid, %[1]d, %[2]d, 1, 1, 0, 9, false, %[3]t);
			INSERT INTO warehouse.thing VALUES (%[1]d, %[2]d, 1, 'k', 1);
			INSERT INTO warehouse.part VALUES (%[1]d, %[2]d, %[2]d + 1, 2, '%[4]s')`, position, ordinal, current, part)); err != nil {
			t.Fatal(err)
		}
		h, err := Hash(t.Context(), pool, m)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(1, 2, true, "p")
	if hash(7, 5, true, "p") != base {
		t.Error("the hash depends on the place")
	}
	if hash(1, 2, true, "q") == base || hash(1, 2, false, "p") == base {
		t.Error("the hash does not see what there is")
	}
}

const goodCheck = `-- level: warn
-- on: thing
-- needs: colour, shape
-- describes: A thing is large:
--   larger than others.
-- example: size="10"

-- Not a part of the header any more.
SELECT c.position, c.record, c.record, 1, 'large' FROM candidate c;

-- again
SELECT 1, 2;
`

func TestLoad(t *testing.T) {
	s, err := Load(fstest.MapFS{
		"sql/checks/thing_large.sql": {Data: []byte(goodCheck)},
		"sql/checks/README.md":       {Data: []byte("x")},
		"sql/context/20_b.sql":       {Data: []byte("-- $1\nDELETE FROM b;\n")},
		"sql/context/10_a.sql":       {Data: []byte("DELETE FROM a\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Statements{
		Checks: []Check{{Name: "thing_large", File: "sql/checks/thing_large.sql", Line: 8, Level: Warn, On: "thing", Needs: []string{"colour", "shape"},
			Describes: "A thing is large: larger than others.", Example: `size="10"`,
			SQL: "-- Not a part of the header any more.\nSELECT c.position, c.record, c.record, 1, 'large' FROM candidate c", Again: "SELECT 1, 2", AgainLine: 12}},
		Context: []Statement{{"sql/context/10_a.sql", "DELETE FROM a"}, {"sql/context/20_b.sql", "-- $1\nDELETE FROM b"}},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("statements (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"thing_large"}, s.Needed("shape")); d != "" {
		t.Error(d)
	}
	m, err := mapping.Load(folder("small", "bigint", "", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	s.Checks[0].On = "part"
	for _, want := range []string{`thing_large.sql:1: "part" is no table of records; the profile has thing`, `"shape" is no reference table; the profile has colour`} {
		if err := s.Fit(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not %q", err, want)
		}
	}
}

func TestLoadNamesLines(t *testing.T) {
	const head = "-- level: warn\n-- on: thing\n-- describes: d\n-- example: e\n"
	for text, want := range map[string]string{
		"SELECT 1":                     "x.sql:1: the header must say level",
		head:                           "x.sql:5: the check holds no query",
		head + "-- size: 1\nSELECT 1":  "x.sql:5: the header knows level, on, needs, describes and example, but not size",
		head + "-- on: part\nSELECT 1": "x.sql:5: on is there twice, first in line 2",
		head + "-- what\nSELECT 1":     "x.sql:5: this is no line of a header",
		strings.Replace(head, "warn", "fatal", 1) + "SELECT 1": `x.sql:1: level is info, warn or error, not "fatal"`,
		strings.Replace(head, ": d", ":", 1) + "SELECT 1":      "x.sql:3: the header must say describes",
		head + "SELECT 1\n-- again\n":                          `x.sql:6: no query follows "-- again"`,
		head + "SELECT 1\n-- again\nSELECT 1\n-- again\n":      `x.sql:8: "-- again" is there twice, first in line 6`,
	} {
		if _, err := Load(fstest.MapFS{"sql/checks/x.sql": {Data: []byte(text)}}); err == nil || !strings.Contains(err.Error(), "sql/checks/"+want) {
			t.Errorf("%q: %v, and not %q", text, err, want)
		}
	}
	all := fstest.MapFS{}
	maps.Copy(all, fstest.MapFS{"sql/checks/Bad.sql": {Data: []byte(head + "SELECT 1")}, "sql/checks/resubmitted.sql": {Data: []byte(head + "SELECT 1")}, "sql/context/1.sql": {Data: []byte("-- nothing")}})
	_, err := Load(all)
	for _, want := range []string{"Bad.sql:1: the file's name is the check's", "resubmitted.sql:1: findings of the name resubmitted are made by the warehouse", "sql/context/1.sql:1: the file holds no statement"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not %q", err, want)
		}
	}
}

// Queries take in the rule of withdrawals as their own, so that it is decided by
// the indexes of its tables; a function that is called instead has a scan of its
// own in the plan.
func TestTheRuleOfWithdrawalsIsTakenIn(t *testing.T) {
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SET LOCAL enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"SELECT EXISTS (SELECT FROM warehouse.withdrawn_by(d.file, d.entry, d.archive, d.rank, d.run_number) w) FROM warehouse.document d WHERE d.file = 'x'",
		"SELECT FROM warehouse.document d WHERE d.file = 'x' AND NOT EXISTS (SELECT FROM warehouse.withdrawn_by(d.file, d.entry, d.archive, d.rank, d.run_number) w WHERE w.version <> 'y')",
		"SELECT x.at FROM warehouse.document d LEFT JOIN LATERAL (SELECT w.at FROM warehouse.withdrawn_by(d.file, d.entry, d.archive, d.rank, d.run_number) w WHERE d.withdrawn ORDER BY w.at LIMIT 1) x ON true WHERE d.file = 'x'",
	} {
		rows, err := tx.Query(t.Context(), "EXPLAIN "+sql)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if strings.Contains(plan, "Function Scan") || !strings.Contains(plan, "withdrawal_file") || !strings.Contains(plan, "unload_file") {
			t.Errorf("%s is planned as\n%s", sql, plan)
		}
	}
}
