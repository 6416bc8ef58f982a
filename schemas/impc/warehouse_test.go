package impc_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
)

// store is a warehouse with the profile's tables. Documents are loaded and
// batches ended in the plainest way that keeps the contract with the profile's
// SQL: slow, and independent of the consumer that does it in earnest.
type store struct {
	t          testing.TB
	conn       *pgx.Conn
	mapping    *mapping.Mapping
	statements *warehouse.Statements
	references []string // loaded
	position   int64
	lock       string // columns of warehouse.document that must have a value
}

func newStore(t testing.TB) *store {
	t.Helper()
	ctx := t.Context()
	m, err := mapping.Load(impc.FS)
	must(t, err)
	statements, err := warehouse.Load(impc.FS)
	must(t, err)
	conn, err := pgx.Connect(ctx, enginetest.Filled(t, "warehouse", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(warehouse.Migrate(ctx, pool), warehouse.Apply(ctx, pool, impc.FS, m))
	}))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	s := &store{t: t, conn: conn, mapping: m, statements: statements}
	s.makeCandidates()
	return s
}

// makeCandidates makes what checks read: the table of candidates, and the
// views of their rows.
func (s *store) makeCandidates() {
	s.t.Helper()
	s.exec("CREATE TEMP TABLE candidate (position bigint, record int)")
	for _, view := range s.mapping.CandidateViews() {
		s.exec(view)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *store) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.conn.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// rows returns each row as one text.
func (s *store) rows(sql string, args ...any) []string {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), "SELECT row_to_json(q)::text FROM ("+sql+") q", args...)
	must(s.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// document is what a test loads: the body of the one centre element.
type document struct {
	kind, centre string
	attributes   string // further ones of the centre element
	body         string
	date         string // of the file
	whole        string // all of it, instead of the parts
	tombstone    bool
}

func (d document) xml() string {
	if d.whole != "" {
		return d.whole
	}
	root, space := "centreSpecimenSet", "specimen"
	if d.kind == "experiment" {
		root, space = "centreProcedureSet", "procedure"
	}
	return fmt.Sprintf(`<%s xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/%s"><centre centreID="%s" %s>%s</centre></%s>`,
		root, space, d.centre, d.attributes, d.body, root)
}

// sink gathers what a document holds.
type sink struct {
	lines   map[int32]map[*mapping.Table][]byte // by record
	records []mapping.Record
}

func (s *sink) Row(r *mapping.Row) error {
	if s.lines[r.Record] == nil {
		s.lines[r.Record] = map[*mapping.Table][]byte{}
	}
	s.lines[r.Record][r.Table] = append(s.lines[r.Record][r.Table], r.Line...)
	return nil
}

func (s *sink) Record(r *mapping.Record) error {
	s.records = append(s.records, *r)
	return nil
}

// load loads a document and returns its position. The later of two claims on a
// key counts.
func (s *store) load(d document) int64 {
	s.t.Helper()
	if d.date == "" {
		d.date = "2020-01-01"
	}
	if d.centre == "" {
		d.centre = "Ics"
	}
	s.position++
	s.document(d)
	in := sink{lines: map[int32]map[*mapping.Table][]byte{}}
	must(s.t, s.mapping.Read(strings.NewReader(d.xml()), mapping.Document{Kind: d.kind, Centre: d.centre, Position: s.position}, &in))
	s.copy(in.lines[0])
	for _, r := range in.records {
		at := []any{s.position, r.Ordinal}
		known := s.rows(`SELECT content_position AS p, content_ordinal AS o FROM warehouse.claim WHERE claim = $1 AND fingerprint = $2 ORDER BY position LIMIT 1`,
			hex.EncodeToString(r.Claim[:]), hex.EncodeToString(r.Fingerprint[:]))
		if len(known) == 0 {
			s.copy(in.lines[r.Ordinal])
		}
		s.exec(`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, subject, fingerprint, content_position, content_ordinal,
				line, col, byte_from, byte_to, tombstone, is_current, line_shift)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8, coalesce(k.content_position, $1), coalesce(k.content_ordinal, $2), $9, $10, $11, $12, $13, false, coalesce($9 - k.line, 0)
			FROM (SELECT) one LEFT JOIN (SELECT content_position, content_ordinal, line - line_shift AS line FROM warehouse.claim WHERE claim = $4 AND fingerprint = $8 LIMIT 1) k ON true`,
			append(at, r.Table.Name, hex.EncodeToString(r.Claim[:]), d.centre, r.Key, r.Subject, hex.EncodeToString(r.Fingerprint[:]),
				r.Line, r.Column, r.ByteFrom, r.ByteTo, d.tombstone)...)
	}
	s.elect()
	return s.position
}

func (s *store) document(d document) {
	if s.lock == "" {
		rows, err := s.conn.Query(s.t.Context(), `SELECT string_agg(format('%I', attname), ', ' ORDER BY attnum) || ') SELECT ' ||
				string_agg(CASE WHEN atttypid = 'text'::regtype THEN '''''' WHEN atttypid = 'boolean'::regtype THEN 'false' ELSE '0' END, ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = 'warehouse.document'::regclass AND attnum > 0 AND attnotnull AND NOT atthasdef
				AND attname NOT IN ('position', 'file_date', 'centre', 'state')`)
		must(s.t, err)
		s.lock, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		must(s.t, err)
	}
	columns, values, _ := strings.Cut(s.lock, ") SELECT ")
	s.exec("INSERT INTO warehouse.document (position, file_date, centre, state, "+columns+") SELECT $1, $2, $3, 'loaded', "+values, s.position, d.date, d.centre)
}

func (s *store) copy(lines map[*mapping.Table][]byte) {
	s.t.Helper()
	for table, text := range lines {
		sql := fmt.Sprintf("COPY warehouse.%s (%s) FROM STDIN", table.Name, strings.Join(table.ColumnNames(), ", "))
		if _, err := s.conn.PgConn().CopyFrom(s.t.Context(), bytes.NewReader(text), sql); err != nil {
			s.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// elect decides which claims are current, and notes what changed.
func (s *store) elect() {
	s.exec(`WITH verdict AS (
			SELECT c.position, c.ordinal, NOT c.tombstone AND NOT d.withdrawn AND NOT EXISTS (
				SELECT FROM warehouse.claim o JOIN warehouse.document e ON e.position = o.position
					WHERE o.claim = c.claim AND NOT e.withdrawn AND o.position > c.position) AS holds
			FROM warehouse.claim c JOIN warehouse.document d ON d.position = c.position
		), turned AS (
			UPDATE warehouse.claim c SET is_current = v.holds FROM verdict v
				WHERE v.position = c.position AND v.ordinal = c.ordinal AND c.is_current <> v.holds
				RETURNING c.position, c.ordinal, c.centre, c.record_type)
		INSERT INTO warehouse.changed (position, ordinal, centre, record_type) SELECT position, ordinal, centre, record_type FROM turned
		ON CONFLICT DO NOTHING`)
}

// withdraw withdraws a document, or takes it back.
func (s *store) withdraw(position int64, withdrawn bool) {
	s.exec("UPDATE warehouse.document SET withdrawn = $2 WHERE position = $1", position, withdrawn)
	s.elect()
}

// reference loads a reference table. All current records are judged again at
// the next batch end.
func (s *store) reference(name string, columns string, rows ...string) {
	s.t.Helper()
	s.exec("INSERT INTO warehouse.reference_" + name + " (" + columns + ") VALUES (" + strings.Join(rows, "), (") + ")")
	s.references = append(s.references, name)
	for _, c := range s.statements.Needed(name) {
		s.exec("INSERT INTO warehouse.recheck (centre, test) VALUES ('Ics', $1) ON CONFLICT DO NOTHING", c)
	}
}

// end ends a batch of a centre: checks, context, overview.
func (s *store) end(centre string) {
	s.t.Helper()
	for _, c := range s.statements.Checks {
		s.check(&c, centre)
	}
	s.exec("DELETE FROM warehouse.recheck WHERE centre = $1", centre)
	s.exec("DELETE FROM warehouse.finding_count")
	s.exec(`INSERT INTO warehouse.finding_count (centre, record_type, subject, test, level, findings)
		SELECT centre, record_type, subject, test, level, count(*) FROM warehouse.finding WHERE open GROUP BY 1, 2, 3, 4, 5`)
	for _, part := range [][]warehouse.Statement{s.statements.Context, s.statements.Overview} {
		for _, statement := range part {
			if _, err := s.conn.Exec(s.t.Context(), statement.SQL, centre); err != nil {
				s.t.Fatalf("%s: %v", statement.File, err)
			}
		}
	}
	s.exec("DELETE FROM warehouse.changed WHERE centre = $1", centre)
}

// check opens and closes the findings of one check.
func (s *store) check(c *warehouse.Check, centre string) {
	s.t.Helper()
	for _, need := range c.Needs {
		if !strings.Contains(" "+strings.Join(s.references, " ")+" ", " "+need+" ") {
			return
		}
	}
	further := ""
	if c.Again != "" {
		further = " UNION SELECT * FROM (" + c.Again + ") again"
	}
	s.exec("DELETE FROM candidate")
	s.exec(`INSERT INTO candidate SELECT DISTINCT k.position, k.ordinal FROM (
			SELECT position, ordinal FROM warehouse.changed WHERE centre = $1 AND record_type = '`+c.On+`'
			UNION SELECT position, ordinal FROM warehouse.claim WHERE centre = $1 AND record_type = '`+c.On+`'
				AND EXISTS (SELECT FROM warehouse.recheck WHERE centre = $1 AND test = '`+c.Name+`')`+further+`
		) k JOIN warehouse.claim USING (position, ordinal) WHERE is_current`, centre)
	s.exec("UPDATE warehouse.finding f SET open = false WHERE f.test = $1 AND f.open AND NOT EXISTS (SELECT FROM warehouse.claim c WHERE c.position = f.position AND c.ordinal = f.record AND c.is_current)", c.Name)
	s.exec("UPDATE warehouse.finding f SET open = false FROM candidate c WHERE c.position = f.position AND c.record = f.record AND f.test = $1", c.Name)
	bind := []any{}
	if strings.Contains(c.SQL, "$1") {
		bind = append(bind, centre)
	}
	sql := `INSERT INTO warehouse.finding AS f (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
		SELECT v.position, v.ordinal, v.record, '` + c.Name + `', k.centre, k.record_type, k.subject, '` + c.Level + `', v.line, 0, v.message, true
		FROM (` + c.SQL + `) v (position, record, ordinal, line, message) JOIN warehouse.claim k ON k.position = v.position AND k.ordinal = v.record
		ON CONFLICT (position, ordinal, test) DO UPDATE SET open = true, message = excluded.message WHERE NOT f.open`
	if _, err := s.conn.Exec(s.t.Context(), sql, bind...); err != nil {
		s.t.Fatalf("%s: %v", c.File, err)
	}
}

// open lists the open findings, "test line".
func (s *store) open() []string {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), `SELECT test || ' ' || line FROM warehouse.open_finding ORDER BY test, position, line, ordinal`)
	must(s.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(s.t, err)
	return out
}
