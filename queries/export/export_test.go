package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
)

// store is a warehouse that stores each content once, as insertion does.
type store struct {
	t        *testing.T
	pool     *pgxpool.Pool
	m        *mapping.Mapping
	contents map[[32]byte][2]int64
}

func newStore(t *testing.T) *store {
	t.Helper()
	m, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	filled := enginetest.Filled(t, "warehouse", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(warehouse.Migrate(ctx, pool), warehouse.Apply(ctx, pool, impc.FS, m))
	})
	pool, err := pg.Open(t.Context(), filled, "export-test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &store{t: t, pool: pool, m: m, contents: map[[32]byte][2]int64{}}
}

// collector keeps a document's rows by record and table.
type collector struct {
	rows    map[int32]map[*mapping.Table]*bytes.Buffer
	records []mapping.Record
}

func (c *collector) Row(r *mapping.Row) error {
	if c.rows[r.Record] == nil {
		c.rows[r.Record] = map[*mapping.Table]*bytes.Buffer{}
	}
	b := c.rows[r.Record][r.Table]
	if b == nil {
		b = &bytes.Buffer{}
		c.rows[r.Record][r.Table] = b
	}
	b.Write(r.Line)
	return nil
}

func (c *collector) Record(r *mapping.Record) error {
	c.records = append(c.records, *r)
	return nil
}

// load stores a document at a position, and says how many of its records had
// been stored before.
func (s *store) load(position int64, kind, centre, text string) (known int) {
	s.t.Helper()
	c := &collector{rows: map[int32]map[*mapping.Table]*bytes.Buffer{}}
	if err := s.m.Read(strings.NewReader(text), mapping.Document{Kind: kind, Centre: centre, Position: position}, c); err != nil {
		s.t.Fatal(err)
	}
	s.document(position, kind, "loaded", "")
	s.copy(c.rows[0])
	for _, r := range c.records {
		content := [2]int64{position, int64(r.Ordinal)}
		id := [32]byte(append(r.Claim[:], r.Fingerprint[:]...))
		if at, twice := s.contents[id]; twice {
			content = at
			known++
		} else {
			s.contents[id] = content
			s.copy(c.rows[r.Ordinal])
		}
		s.exec(`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, fingerprint, content_position, content_ordinal, line, col, byte_from, byte_to, tombstone, is_current)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, false, true)`, position, r.Ordinal, r.Table.Name, r.Claim, centre, r.Key, r.Fingerprint,
			content[0], content[1], r.Line, r.Column, r.ByteFrom, r.ByteTo)
	}
	return known
}

func (s *store) copy(tables map[*mapping.Table]*bytes.Buffer) {
	s.t.Helper()
	err := s.pool.AcquireFunc(s.t.Context(), func(conn *pgxpool.Conn) error {
		for t, rows := range tables {
			if _, err := conn.Conn().PgConn().CopyFrom(s.t.Context(), rows, fmt.Sprintf("COPY warehouse.%s (%s) FROM STDIN", t.Name, strings.Join(t.ColumnNames(), ", "))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
}

// document makes a document's own row, of which the export reads little.
func (s *store) document(position int64, kind, state, exception string) {
	s.t.Helper()
	rows, err := s.pool.Query(s.t.Context(), `SELECT column_name, data_type FROM information_schema.columns
		WHERE table_schema = 'warehouse' AND table_name = 'document' AND is_nullable = 'NO' AND column_default IS NULL AND is_generated = 'NEVER'`)
	if err != nil {
		s.t.Fatal(err)
	}
	var names, values []string
	var name, typ string
	for rows.Next() {
		if err := rows.Scan(&name, &typ); err != nil {
			s.t.Fatal(err)
		}
		value := map[string]string{"position": fmt.Sprint(position), "kind": "'" + kind + "'", "state": "'" + state + "'", "exception": "'" + exception + "'"}[name]
		if value == "" {
			value = map[string]string{"text": "''", "boolean": "false", "bytea": "''", "uuid": "gen_random_uuid()", "timestamp with time zone": "clock_timestamp()", "date": "current_date"}[typ]
		}
		if value == "" {
			value = "0"
		}
		names, values = append(names, name), append(values, value)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	s.exec("INSERT INTO warehouse.document (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")")
}

func (s *store) export(position int64) string {
	s.t.Helper()
	var b strings.Builder
	if err := Document(s.t.Context(), s.pool, s.m, position, &b); err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

const (
	head = `<?xml version="1.0" encoding="UTF-8"?>
<centreProcedureSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/procedure">
  <centre centreID="H" pipeline="P" project="X">
`
	experiment = `    <experiment experimentID="E" dateOfExperiment="2020-01-01+01:00">
      <specimenID>a&amp;b</specimenID>
      <specimenID>\N	{"x"}</specimenID>
      <procedure procedureID="p">
        <simpleParameter parameterID="q" sequenceID="7">
          <value></value>
        </simpleParameter>
        <seriesParameter parameterID="s">
          <value incrementValue="1">5</value>
          <value incrementValue="2">6</value>
          <parameterStatus>PSC1</parameterStatus>
        </seriesParameter>
        <seriesMediaParameter parameterID="m">
          <value incrementValue="1" URI="u">
            <parameterAssociation parameterID="q">
              <dim id="x" origin="o">1.50</dim>
            </parameterAssociation>
          </value>
          <procedureMetadata parameterID="d">
            <value>é</value>
          </procedureMetadata>
        </seriesMediaParameter>
      </procedure>
      <statusCode date="2020-02-02Z">S</statusCode>
    </experiment>
`
	line = `    <line colonyID="c">
      <procedure procedureID="p"/>
    </line>
`
	other = `  </centre>
  <centre centreID="H" pipeline="P2" project="X">
`
	tail = `  </centre>
</centreProcedureSet>
`
)

// Whoever brought a content first: each document that claims it is written as
// it was, with the place that the content has there.
func TestDocument(t *testing.T) {
	s := newStore(t)
	first := head + line + experiment + tail
	second := head + other + `    <housing fromLIMS="true">
      <procedure procedureID="p"/>
    </housing>
` + strings.Replace(line, `"c"`, `"d"`, 1) + experiment + tail
	third := head + `    <housing fromLIMS="false">
      <procedure procedureID="p"/>
    </housing>
` + experiment + other + line + tail
	s.load(5, "experiment", "H", first)
	s.load(6, "experiment", "H", second)
	if known := s.load(7, "experiment", "H", third); known != 1 {
		t.Errorf("%d records of the third document were known, want its experiment", known)
	}
	for position, want := range map[int64]string{5: first, 6: second, 7: third} {
		// Empty elements are one however they are written.
		want = strings.NewReplacer("<value></value>", "<value/>", `project="X">`+"\n  </centre>", `project="X"/>`).Replace(want)
		if diff := cmp.Diff(want, s.export(position)); diff != "" {
			t.Errorf("document %d (-loaded +written)\n%s", position, diff)
		}
	}
}

func TestNotLoaded(t *testing.T) {
	s := newStore(t)
	s.document(3, "experiment", "failed", "duplicate_key")
	for position, want := range map[int64]string{3: "duplicate_key", 4: "no document"} {
		err := Document(t.Context(), s.pool, s.m, position, &strings.Builder{})
		if not := (*NotLoadedError)(nil); !errors.As(err, &not) || not.Position != position || !strings.Contains(err.Error(), want) {
			t.Errorf("position %d: %v", position, err)
		}
	}
}

// TestSamples loads the valid samples and writes them back: what is written
// reads as the same rows.
func TestSamples(t *testing.T) {
	dir := os.Getenv("TRIBUTARY_IMPC")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "impc")
	}
	names, err := filepath.Glob(filepath.Join(dir, "samples", "valid", "*.xml"))
	if err != nil || len(names) == 0 {
		t.Skip("the samples are not there: set TRIBUTARY_IMPC to their folder")
	}
	s := newStore(t)
	position := int64(0)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		kind := "specimen"
		if strings.Contains(text, "centreProcedureSet") {
			kind = "experiment"
		}
		_, rest, _ := strings.Cut(text, `centreID="`)
		centre, _, _ := strings.Cut(rest, `"`)
		if strings.Count(text, `centreID="`) != strings.Count(text, `centreID="`+centre+`"`) {
			continue // of several centres: a file has one
		}
		position++
		s.load(position, kind, centre, text)
		if want, got := s.lines(kind, centre, text), s.lines(kind, centre, s.export(position)); want != got {
			t.Errorf("%s (-loaded +written)\n%s", filepath.Base(name), cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
	}
}

// lines are a document's records.
func (s *store) lines(kind, centre, text string) string {
	s.t.Helper()
	c := &collector{rows: map[int32]map[*mapping.Table]*bytes.Buffer{}}
	if err := s.m.Read(strings.NewReader(text), mapping.Document{Kind: kind, Centre: centre}, c); err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range c.records {
		fmt.Fprintf(&b, "%s %d %x %x\n", r.Table.Name, r.Ordinal, r.Claim, r.Fingerprint)
	}
	return b.String()
}

// A reader that goes away ends the writing.
func TestCancelled(t *testing.T) {
	s := newStore(t)
	s.load(1, "experiment", "H", head+line+tail)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Document(ctx, s.pool, s.m, 1, &strings.Builder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
