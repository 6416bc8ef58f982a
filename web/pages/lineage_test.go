package pages_test

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

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/blob"
	"tributary/internal/mapping"
	"tributary/queries/original"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// loaded is a warehouse that a test fills.
type loaded struct {
	t     *testing.T
	pool  *pgxpool.Pool
	m     *mapping.Mapping
	blobs *blob.Dir

	position int64 // of the document that is loaded
	deletes  bool
	rows     map[*mapping.Table][]byte
}

// mice is a document of specimens with some ids, one a line from the third on.
func mice(ids ...string) string {
	out := `<?xml version="1.0" encoding="UTF-8"?><centreSpecimenSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen">` + "\n<centre centreID=\"H\">\n"
	for _, id := range ids {
		out += `<mouse DOB="2012-01-01" specimenID="` + id + `" strainID="S" isBaseline="true" gender="male" zygosity="homozygous" litterId="L" pipeline="P" project="MGP" phenotypingCentre="H"/>` + "\n"
	}
	return out + "</centre>\n</centreSpecimenSet>\n"
}

// load puts a document of mice into the warehouse, and its bytes into the blob store.
func (l *loaded) load(position int64, action, file, entry string, ids ...string) {
	l.t.Helper()
	text := []byte(mice(ids...))
	ref, err := blob.Put(l.t.Context(), l.blobs, bytes.NewReader(text))
	if err != nil {
		l.t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	l.exec(`INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late, file, file_name, action, file_date, file_inc,
			document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc, archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key,
			attempt, download, unzip, profile, state, phase, exception, rows)
		VALUES ($1, '', '', 0, 'session', 'harwell', '', 'H', 3, false, $2, $3, $4, '2012-10-02', 1, '', $5, 0, 'specimen', 'H', '2012-10-02', 1,
			$6, 0, $7, 0, $8, $7, $9, '', lpad($1::bigint::text, 9), lpad($1::bigint::text, 9), 2, '', '', 'impc@1', 'loaded', 'upload', '', 1)`,
		position, schemas.FileID(action, file), file, action, entry, ref.SHA256, len(text), crc32.ChecksumIEEE(text), hex.EncodeToString(sum[:]))
	l.position, l.deletes, l.rows = position, action == schemas.Delete, map[*mapping.Table][]byte{}
	if err := l.m.Read(bytes.NewReader(text), mapping.Document{Kind: "specimen", Centre: "H", Position: position}, l); err != nil {
		l.t.Fatal(err)
	}
	for t, lines := range l.rows {
		if err := l.copy(t, lines); err != nil {
			l.t.Fatal(err)
		}
	}
	l.exec(`UPDATE warehouse.claim c SET is_current = NOT c.tombstone AND (c.position, c.ordinal) IN (SELECT DISTINCT ON (c.claim) c.position, c.ordinal FROM warehouse.claim c ORDER BY c.claim, c.position DESC)`)
}

func (l *loaded) Row(r *mapping.Row) error {
	l.rows[r.Table] = append(l.rows[r.Table], r.Line...)
	return nil
}

func (l *loaded) Record(r *mapping.Record) error {
	l.exec(`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, subject, fingerprint, content_position, content_ordinal, line, col, byte_from, byte_to, tombstone, is_current)
		VALUES ($1, $2, $3, $4, 'H', $5, '', $6, $1, $2, $7, $8, $9, $10, $11, false)`,
		l.position, r.Ordinal, r.Table.Name, uuid.UUID(r.Claim).String(), r.Key, uuid.UUID(r.Fingerprint).String(), r.Line, r.Column, r.ByteFrom, r.ByteTo, l.deletes)
	return nil
}

func (l *loaded) copy(t *mapping.Table, lines []byte) error {
	conn, err := l.pool.Acquire(l.t.Context())
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Conn().PgConn().CopyFrom(l.t.Context(), bytes.NewReader(lines), `COPY warehouse.`+t.Name+` ("`+strings.Join(t.ColumnNames(), `", "`)+`") FROM STDIN`)
	return err
}

func (l *loaded) exec(sql string, args ...any) {
	l.t.Helper()
	if _, err := l.pool.Exec(l.t.Context(), sql, args...); err != nil {
		l.t.Fatal(err)
	}
}

// hostileID is the id of a mouse that means harm, as XML has it and as pages may.
const hostileID, hostileIDShown = "&lt;script>alert(1)&lt;/script>\u202e", "&lt;script&gt;alert(1)&lt;/script&gt;⟨U&#43;202E⟩"

// heldSite is a site with documents in the warehouse: the good file's brought mice 77 and 78 and a
// hostile one; another file edited 77, and one deleted 78.
func heldSite(t *testing.T) (pages.Site, *loaded) {
	t.Helper()
	pool := reporttest.Filled(t)
	s := pagestest.Site(t, pool)
	applied := warehouse.Apply(t.Context(), pool, impc.FS, s.Mapping)
	blobs, err := blob.NewDir(t.TempDir())
	if err = errors.Join(applied, err); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	l := &loaded{t: t, pool: pool, m: s.Mapping, blobs: blobs}
	l.load(1, "add", reporttest.GoodZip, "H.2012-10-02.1.specimen.impc.xml", "77", "78", hostileID)
	l.load(2, "edit", "H.2012-10-04.01.impc.zip", "edit.xml", "77")
	l.load(3, "delete", "H.2012-10-05.01.impc.zip", "delete.xml", "78")
	s.Originals = &original.Reader{Blobs: blobs}
	return s, l
}

// The pages of a file and of a document tell what they put into the warehouse, and what
// superseded it.
func TestHeld(t *testing.T) {
	s, l := heldSite(t)
	server := served(t, s)
	const specimen = goodFile + "/documents/H.2012-10-02.1.specimen.impc.xml"
	says(t, server, goodFile, 200, "In the warehouse", `<a href="/t`+specimen+`"><bdi>H.2012-10-02.1.specimen.impc.xml</bdi></a></th><td class="n">1</td>`, "loaded, 1 row")
	says(t, server, specimen, 200, `specimen</th><td class="n">3</td><td class="n">1</td><td class="n">2</td><td class="n">0</td><td class="n">0</td>`,
		`1 record by <a href="/t/files/edit/H.2012-10-04.01.impc.zip/documents/edit.xml">`, `1 record by <a href="/t/files/delete/H.2012-10-05.01.impc.zip/documents/delete.xml">`,
		`<a href="/t/lineage/1/2">1/2</a>`, "<bdi>centre=H  specimen_id=77</bdi>", "specimen_id="+hostileIDShown, "!<script>", "!\u202e")
	says(t, server, invalidPage, 200, "!In the warehouse")
	l.exec(`UPDATE warehouse.document SET withdrawn = true WHERE position = 1`)
	says(t, server, goodFile, 200, "withdrawn: a later position withdrew the document")
	l.exec(`ALTER TABLE warehouse.document RENAME TO gone`)
	for _, page := range []string{goodFile, specimen} {
		says(t, server, page, 200, "The warehouse does not answer.", "Facts</h2>")
	}
	s.Mapping = nil
	says(t, served(t, s), goodFile, 200, "!In the warehouse")
}

// A record is told down to its bytes, by its place and by its key.
func TestLineage(t *testing.T) {
	s, l := heldSite(t)
	server := served(t, s)
	body := says(t, server, "/lineage/1/2", 200, "This row is superseded: what holds is in edit/H.2012-10-04.01.impc.zip.", "line 3; superseded</span>", `href="#c-2-2"`, "<h2 id=\"h-c-2-2\">current · 2/2</h2>", "superseded · 1/2", "superseded by 2/2 (edit/H.2012-10-04.01.impc.zip)",
		`<a href="/t`+goodFile+`/documents/H.2012-10-02.1.specimen.impc.xml">`, "line 3, column 1, bytes", "tributary lineage 1/2", `<dt><bdi>specimen_id</bdi></dt><dd><bdi>77</bdi></dd>`, `href="/t/lineage/1/2?compare=true"`, "!Compared:")
	if !strings.Contains(body, `aria-current="page">Lineage`) {
		t.Error("it is no place of the side list")
	}
	says(t, server, "/lineage/1/2?compare=true", 200, "<b>Compared:</b> the document, the element's bytes and the content are what was loaded.", `<i>3</i><bdi>&lt;mouse DOB=`, "!Compare with")
	says(t, server, "/lineage?table=specimen&key=H%0A78", 200, "The key is deleted, by delete/H.2012-10-05.01.impc.zip.", "deleted by 3/2", "tributary lineage specimen H 78", `href="/t/lineage?compare=true&amp;key=H%0A78&amp;table=specimen"`)
	says(t, server, "/lineage?table=specimen&key=specimen_id%3D78%0D%0Acentre%3DH%0D%0A", 200, "The key is deleted")
	says(t, server, "/lineage/1/4?compare=1", 200, hostileIDShown, "!<script>", "!\u202e")
	says(t, server, "/lineage/1/1?compare=1", 200, "It is a row of the document itself", "the document is what was loaded")
	says(t, server, "/lineage/2/2", 200, "It holds as edit/H.2012-10-04.01.impc.zip says.", "; current</span>")
	says(t, server, "/lineage", 200, "<option>specimen</option>", `<span class="mono"><bdi>specimen</bdi></span>: <bdi>centre, specimen_id</bdi>`, "!can't be told")
	says(t, server, "/lineage?table=specimen&key=H", 200, "It can't be told:", "a key of specimen is made of centre, specimen_id")
	says(t, server, "/lineage?table=%3Cscript%3E&key=H", 200, "It can't be told:", "!<script>")
	for _, none := range []string{"/lineage/1/99", "/lineage/9/1", "/lineage/0/1", "/lineage/x/1", "/lineage/1/99999999999", "/lineage/1"} {
		says(t, server, none, 404, "There is nothing here.")
	}
	for _, bad := range []string{"table=specimen&key=%00", "table=specimen&key=%ff", "key=" + strings.Repeat("x", 5000)} {
		says(t, server, "/lineage?"+bad, 400, "This address can&#39;t be read.")
	}
	if err := l.blobs.List(t.Context(), func(name string, _ int64) error { return l.blobs.Remove(context.WithoutCancel(t.Context()), name) }); err != nil {
		t.Fatal(err)
	}
	says(t, server, "/lineage/1/2?compare=true", 200, "<b>It differs:</b>", "is not in the blob store")
	l.exec(fmt.Sprintf(`UPDATE warehouse.document SET size = %d`, 65<<20))
	says(t, server, "/lineage/1/2?compare=true", 200, "The stored bytes were not compared. The documents are too large", "!<b>It differs:</b>")
	s.Warehouse = nil
	says(t, served(t, s), "/lineage", 503, "This can&#39;t be read here.")
}
