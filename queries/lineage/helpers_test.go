package lineage_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/blob"
	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/queries/lineage"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
)

// bench is a warehouse that is filled by a loader of the test's own: what is
// told is so compared with what was put there, whoever loads in earnest.
type bench struct {
	t     *testing.T
	pool  *pgxpool.Pool
	m     *mapping.Mapping
	blobs blob.Store
}

func newBench(t *testing.T) *bench {
	t.Helper()
	m, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	stores := enginetest.Filled(t, "tracker and warehouse", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(tracker.Migrate(ctx, pool), warehouse.Migrate(ctx, pool), warehouse.Apply(ctx, pool, impc.FS, m))
	})
	pool, err := pg.Open(t.Context(), stores, "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	blobs, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, pool, m, blobs}
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) reader(limit int) *lineage.Reader {
	return &lineage.Reader{Warehouse: b.pool, Tracker: b.pool, Mapping: b.m, Limit: limit}
}

// doc is a document, as the tests say it.
type doc struct {
	position int64
	action   string // add by default
	day      int    // of its name and its file's
	entry    string // by default as the day says
	rank     int    // of the version
	kind     string // specimen by default
	xml      string
	utf16    bool   // how it is stored
	after    string // of the archive, behind the document, to make a version differ
	failed   string // exception
}

func (d doc) file() string { return fmt.Sprintf("H.2012-10-%02d.01.impc.zip", d.day) }

// load puts a document's claims and rows into the warehouse, and its archive,
// which is the document's bytes as one stored entry, into the blob store.
func (b *bench) load(d doc) {
	b.t.Helper()
	ctx := b.t.Context()
	if d.action == "" {
		d.action = schemas.Add
	}
	if d.kind == "" {
		d.kind = "specimen"
	}
	if d.entry == "" {
		d.entry = fmt.Sprintf("H.2012-10-%02d.1.%s.impc.xml", d.day, d.kind)
	}
	if d.utf16 {
		d.xml = utf16Of(d.xml)
	}
	ref, err := blob.Put(ctx, b.blobs, bytes.NewReader([]byte(d.xml+d.after)))
	if err != nil {
		b.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(d.xml))
	file := schemas.FileID(d.action, d.file())
	state, phase := "loaded", "upload"
	if d.failed != "" {
		state, phase = "failed", "xsd"
	}
	b.exec(`INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late, file, file_name, action, file_date, file_inc,
			document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc, archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key,
			attempt, download, unzip, profile, state, phase, exception, rows)
		VALUES ($1, '', '', 0, 'session', 'harwell', '', 'H', 3, false, $2, $3, $4, $17, 1, $5, $6, 0, $7, 'H', $17, 1,
			$8, 0, $9, 0, $10, $9, $11, '', $12, $13, 2, '', '', 'impc@1', $14, $15, $16, 1)`,
		d.position, file, d.file(), d.action, schemas.DocumentID(file, d.entry), d.entry, d.kind, ref.SHA256, len(d.xml), crc32.ChecksumIEEE([]byte(d.xml)),
		hex.EncodeToString(sum[:]), fmt.Sprintf("%03d", d.rank), fmt.Sprintf("%02d %s %03d", d.day, d.action, d.rank), state, phase, d.failed, fmt.Sprintf("2012-10-%02d", d.day))
	if d.failed != "" {
		return
	}
	s := &sink{b: b, ctx: ctx, d: d, rows: map[*mapping.Table][]byte{}}
	if err := b.m.Read(bytes.NewReader([]byte(d.xml)), mapping.Document{Kind: d.kind, Centre: "H", Position: d.position}, s); err != nil {
		b.t.Fatal(err)
	}
	s.flush(func(t *mapping.Table) bool { return !t.Record && t.Under == nil })
}

// utf16Of is a document in UTF-16 with a byte order mark.
func utf16Of(text string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(strings.Replace(text, "UTF-8", "UTF-16", 1))) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

// settle decides which claims are current.
func (b *bench) settle() {
	b.t.Helper()
	b.exec(`UPDATE warehouse.claim c SET is_current = NOT c.tombstone AND (c.position, c.ordinal) IN (
		SELECT DISTINCT ON (c.claim) c.position, c.ordinal FROM warehouse.claim c JOIN warehouse.document d USING (position)
		WHERE NOT d.withdrawn ORDER BY c.claim, d.version_key DESC, c.position DESC)`)
}

type sink struct {
	b    *bench
	ctx  context.Context
	d    doc
	rows map[*mapping.Table][]byte
}

func (s *sink) Row(r *mapping.Row) error {
	s.rows[r.Table] = append(s.rows[r.Table], r.Line...)
	return nil
}

func (s *sink) Record(r *mapping.Record) error {
	s.b.t.Helper()
	position, ordinal := s.d.position, r.Ordinal
	rows, err := s.b.pool.Query(s.ctx, `SELECT content_position, content_ordinal FROM warehouse.claim WHERE claim = $1 AND fingerprint = $2 ORDER BY position LIMIT 1`,
		uuid.UUID(r.Claim).String(), uuid.UUID(r.Fingerprint).String())
	if err != nil {
		s.b.t.Fatal(err)
	}
	for rows.Next() {
		if err := rows.Scan(&position, &ordinal); err != nil {
			s.b.t.Fatal(err)
		}
	}
	rows.Close()
	record := func(t *mapping.Table) bool { return t.Record || t.Under != nil }
	if position == s.d.position {
		s.flush(record)
	} else {
		for t := range s.rows {
			if record(t) {
				delete(s.rows, t)
			}
		}
	}
	s.b.exec(`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, subject, fingerprint, content_position, content_ordinal,
			line, col, byte_from, byte_to, tombstone, is_current) VALUES ($1, $2, $3, $4, 'H', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, false)`,
		s.d.position, r.Ordinal, r.Table.Name, uuid.UUID(r.Claim).String(), r.Key, r.Subject, uuid.UUID(r.Fingerprint).String(), position, ordinal,
		r.Line, r.Column, r.ByteFrom, r.ByteTo, s.d.action == schemas.Delete)
	return nil
}

func (s *sink) flush(which func(*mapping.Table) bool) {
	s.b.t.Helper()
	conn, err := s.b.pool.Acquire(s.ctx)
	if err != nil {
		s.b.t.Fatal(err)
	}
	defer conn.Release()
	for t, lines := range s.rows {
		if !which(t) {
			continue
		}
		columns := ""
		for i, c := range t.ColumnNames() {
			if i > 0 {
				columns += ", "
			}
			columns += `"` + c + `"`
		}
		if _, err := conn.Conn().PgConn().CopyFrom(s.ctx, bytes.NewReader(lines), "COPY warehouse."+t.Name+" ("+columns+") FROM STDIN"); err != nil {
			s.b.t.Fatal(err)
		}
		delete(s.rows, t)
	}
}

// mice is a specimen document with a mouse of the given name and strain on each
// line from the third.
func mice(pairs ...string) string {
	out := `<?xml version="1.0" encoding="UTF-8"?><centreSpecimenSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen">` + "\n<centre centreID=\"H\">\n"
	for i := 0; i < len(pairs); i += 2 {
		out += fmt.Sprintf("  <mouse DOB=\"2012-01-01\" specimenID=\"%s\" strainID=\"%s\" isBaseline=\"true\" gender=\"male\" zygosity=\"homozygous\" litterId=\"L\" pipeline=\"P\" project=\"MGP\" phenotypingCentre=\"H\">"+
			"<relatedSpecimen specimenID=\"R%s\" relationship=\"mother\"/></mouse>\n", pairs[i], pairs[i+1], pairs[i])
	}
	return out + "</centre>\n</centreSpecimenSet>\n"
}
