package badinput

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/jackc/pgx/v5"

	"tributary/internal/archive"
	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/sql/warehouse"
)

// TestWhatPassesIsTaken loads what the cases let pass into the profile's real
// tables, and runs its checks, context, overview and views over it: one value
// that the database stumbles over would stop insertion for everybody.
func TestWhatPassesIsTaken(t *testing.T) {
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "warehouse", warehouse.Migrate), "badinput-test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mapping.Load(p.FS())
	if err != nil {
		t.Fatal(err)
	}
	statements, err := warehouse.Load(p.FS())
	if err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Apply(t.Context(), pool, p.FS(), m); err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	b := &base{t: t, m: m, profile: p, conn: conn.Conn(), seen: map[mapping.ID]bool{}}
	if b.centres, err = profile.NewCentreSet(p.Centres...); err != nil {
		t.Fatal(err)
	}
	for _, c := range allCases() {
		if c.end == (end{"upload", ""}) && c.large == "" && c.write != nil {
			b.load(c)
		}
	}
	if b.position < 50 {
		t.Fatalf("only %d documents pass", b.position)
	}
	b.exec("reference rows", referenceRows(m)...)
	b.judge(statements)
	b.views()
}

// base is a warehouse under test.
type base struct {
	t        *testing.T
	m        *mapping.Mapping
	profile  *profile.Profile
	centres  profile.CentreSet
	conn     *pgx.Conn
	position int64
	seen     map[mapping.ID]bool // claims: only the first on a key is current
}

func (b *base) exec(what string, sql ...string) {
	b.t.Helper()
	for _, text := range sql {
		if _, err := b.conn.Exec(b.t.Context(), text); err != nil {
			b.t.Errorf("%s: %v", what, err)
		}
	}
}

// load loads the documents of a case.
func (b *base) load(c bad) {
	b.t.Helper()
	var file bytes.Buffer
	if err := c.write(&file); err != nil {
		b.t.Fatal(err)
	}
	raw := bytes.NewReader(file.Bytes())
	a, err := archive.Open(raw, raw.Size(), limits())
	if err != nil {
		b.t.Fatalf("%s: %v", c.name, err)
	}
	for _, m := range a.Members() {
		name, bad := b.profile.ParseDocument(m.Name, b.centres)
		if !m.Document || bad != nil {
			continue
		}
		r, err := archive.OpenMember(raw, m)
		if err != nil {
			b.t.Fatal(err)
		}
		b.document(c.name, name.Kind, r)
		if err := r.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *base) document(what, kind string, r io.Reader) {
	b.t.Helper()
	b.position++
	rows := &kept{base: b, lines: make([][]byte, len(b.m.Tables))}
	if err := b.m.Read(r, mapping.Document{Kind: kind, Centre: "H", Position: b.position}, rows); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	b.exec(what, fmt.Sprintf(`DO $do$ DECLARE cols text; vals text; BEGIN
		SELECT string_agg(quote_ident(column_name), ','), string_agg(CASE column_name WHEN 'position' THEN '%d' WHEN 'centre' THEN '''H''' WHEN 'file_date' THEN '''2013-06-19'''
			WHEN 'state' THEN '''loaded''' WHEN 'phase' THEN '''upload''' ELSE CASE data_type WHEN 'text' THEN '''''' WHEN 'boolean' THEN 'false' ELSE '0' END END, ',')
		INTO cols, vals FROM information_schema.columns WHERE table_schema = 'warehouse' AND table_name = 'document' AND column_default IS NULL;
		EXECUTE 'INSERT INTO warehouse.document (' || cols || ') VALUES (' || vals || ')'; END $do$`, b.position))
	copyTo := func(table, columns string, lines []byte) {
		b.t.Helper()
		if _, err := b.conn.PgConn().CopyFrom(b.t.Context(), bytes.NewReader(lines), "COPY warehouse."+table+" ("+columns+") FROM STDIN"); err != nil {
			b.t.Errorf("%s: Postgres refuses rows of %s: %v", what, table, err)
		}
	}
	copyTo("claim", `position, ordinal, record_type, claim, centre, natural_key, subject, fingerprint, content_position, content_ordinal,
		line, col, byte_from, byte_to, tombstone, is_current`, rows.claims)
	for i, t := range b.m.Tables {
		copyTo(t.Name, strings.Join(t.ColumnNames(), ", "), rows.lines[i])
	}
}

// kept keeps a document's rows as COPY takes them.
type kept struct {
	base   *base
	lines  [][]byte
	claims []byte
}

func (k *kept) Row(r *mapping.Row) error {
	k.lines[r.Table.Index] = append(k.lines[r.Table.Index], r.Line...)
	return nil
}

func (k *kept) Record(r *mapping.Record) error {
	current := !k.base.seen[r.Claim]
	k.base.seen[r.Claim] = true
	escape := strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace
	key := make([]string, len(r.Key))
	for i, part := range r.Key {
		key[i] = "NULL"
		if part != nil {
			key[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(*part) + `"`
		}
	}
	k.claims = fmt.Appendf(k.claims, "%d\t%d\t%s\t%s\tH\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\tf\t%s\n", k.base.position, r.Ordinal, r.Table.Name, hex.EncodeToString(r.Claim[:]),
		escape("{"+strings.Join(key, ",")+"}"), escape(r.Subject), hex.EncodeToString(r.Fingerprint[:]), k.base.position, r.Ordinal, r.Line, r.Column, r.ByteFrom, r.ByteTo, strconv.FormatBool(current))
	return nil
}

// referenceRows say of some parameters what their values must be, and put one
// row into every other reference table.
func referenceRows(m *mapping.Mapping) []string {
	var out []string
	for _, kind := range valueTypes() {
		out = append(out, fmt.Sprintf(`INSERT INTO warehouse.reference_parameter (parameter_id, procedure_id, pipeline_id, value_type, options) VALUES ('P%s', 'IMPC_X_001', 'p', '%s', 'a|b')`, kind, kind))
	}
	for _, kind := range []string{"DATETIME", "FLOAT", "INT", "REPEAT"} {
		out = append(out, fmt.Sprintf(`INSERT INTO warehouse.reference_parameter (parameter_id, procedure_id, pipeline_id, increment_type, increments, min_increments) VALUES ('S', 'IMPC_X_00%d', 'p', '%s', '1|x', 2)`, len(kind), kind))
	}
	for _, r := range m.References {
		if r.Name != "parameter" {
			out = append(out, fmt.Sprintf("INSERT INTO warehouse.%s (%s) VALUES ('x')", r.Relation(), r.SQLColumns()[0].Name))
		}
	}
	return out
}

// judge runs every check on every record, and then context and overview.
func (b *base) judge(statements *warehouse.Statements) {
	b.t.Helper()
	tx, err := b.conn.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	run := func(what, sql string, args ...any) [][]any {
		b.t.Helper()
		var out [][]any
		err := pgx.BeginFunc(b.t.Context(), tx, func(tx pgx.Tx) error {
			rows, err := tx.Query(b.t.Context(), sql, args...)
			if err != nil {
				return err
			}
			out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
			return err
		})
		if err != nil {
			b.t.Errorf("%s: %v", what, err)
		}
		return out
	}
	run("changed", "INSERT INTO warehouse.changed (position, ordinal, centre, record_type) SELECT position, ordinal, centre, record_type FROM warehouse.claim WHERE is_current")
	run("candidates", "CREATE TEMP TABLE candidate (position bigint NOT NULL, record int NOT NULL, PRIMARY KEY (position, record)) ON COMMIT DROP")
	for _, view := range b.m.CandidateViews() {
		run("candidates", view)
	}
	found := 0
	for _, c := range statements.Checks {
		run(c.File, "TRUNCATE pg_temp.candidate")
		run(c.File, "INSERT INTO pg_temp.candidate SELECT position, ordinal FROM warehouse.claim WHERE is_current AND record_type = $1", c.On)
		for _, row := range run(c.File, "SELECT message FROM ("+c.SQL+") v(position, record, ordinal, line, message) WHERE $1::text IS NOT NULL", "H") {
			found++
			message, ok := row[0].(string)
			if !ok || message == "" || len(message) > 4*maxMessage || strings.ContainsFunc(message, func(r rune) bool { return r == 0 || unicode.Is(unicode.Cs, r) }) {
				b.t.Errorf("%s: the message can't be shown to people: %.300q", c.File, row[0])
			}
		}
		if c.Again != "" {
			run(c.File+", again", "SELECT * FROM ("+c.Again+") v(position, record) WHERE $1::text IS NOT NULL", "H")
		}
	}
	b.t.Logf("%d documents, %d claims on keys, %d findings", b.position, len(b.seen), found)
	if found < 50 {
		b.t.Errorf("only %d findings in awkward data: the checks see nothing", found)
	}
	for _, list := range [][]warehouse.Statement{statements.Context, statements.Overview} {
		for _, s := range list {
			run(s.File, s.SQL, "H")
		}
	}
	if err := tx.Commit(b.t.Context()); err != nil {
		b.t.Error(err)
	}
}

// views reads every view to its end.
func (b *base) views() {
	b.t.Helper()
	rows, err := b.conn.Query(b.t.Context(), "SELECT table_name::text FROM information_schema.views WHERE table_schema = 'warehouse' ORDER BY 1")
	if err != nil {
		b.t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 5 {
		b.t.Fatalf("%d views, %v", len(names), err)
	}
	for _, name := range names {
		// As text, since a row that is only counted is not computed.
		b.exec("view "+name, "SELECT sum(length(v::text)) FROM warehouse."+name+" v")
	}
}
