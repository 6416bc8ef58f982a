package centrereport_test

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/queries/centrereport"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	trackersql "tributary/sql/tracker"
	"tributary/sql/warehouse"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	loadedZip  = "H.2012-10-01.01.impc.zip" // went in whole
	badDocZip  = "H.2012-10-02.01.impc.zip" // one document of two breaks its schema
	brokenZip  = "H.2012-10-03.01.impc.zip" // can't be unzipped
	dataZip    = "H.2012-10-04.01.impc.zip" // loaded, with findings
	waitingZip = "H.2012-10-09.01.impc.zip"
	// hostileZip has a name that breaks the convention, a page and a terminal.
	hostileZip = "H<script>alert(1)</script>&\"'\x1b[2J\u202egpj.zip"
	otherZip   = "Ics.2012-10-02.01.impc.zip" // of another centre
)

func start() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

func ref(name string) schemas.FileRef {
	return schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}
}

func entry(zip, kind string) string {
	return strings.Replace(strings.TrimSuffix(zip, ".impc.zip"), ".01", ".1."+kind+".impc.xml", 1)
}

// story is what the tracker is told.
func story() []schemas.StatusChanged {
	at := func(s int) *time.Time { t := start().Add(time.Duration(s) * time.Second); return &t }
	scope := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: "harwell"}
	named := func(name string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref(name), Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", FileDate: "2012-10-02", FileInc: 1}
	}
	hosted := func(name string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref(name), Entity: schemas.EntityHosting, Look: 1, FileSize: 120, ListedAt: at(1), Attributes: map[string]string{"state": "present"}}
	}
	get := func(name, phase, status, outcome string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref(name), Entity: schemas.EntityDownload, Attempt: 1, Phase: phase, Status: status, Outcome: outcome}
	}
	fetched := func(name string, documents int64) []schemas.StatusChanged {
		f, u, a := get(name, "zip_md5", "done", "aa11"), get(name, "unzip", "done", "aa11/done"), get(name, "", "", "")
		f.SHA256, f.FinishedAt = "aa11", at(9)
		u.Rows, u.FinishedAt = documents, at(10)
		a.Accepted = "aa11/done"
		return []schemas.StatusChanged{named(name), hosted(name), f, u, a}
	}
	doc := func(zip, kind, phase, status string, position int64) schemas.StatusChanged {
		e := get(zip, phase, status, "aa11/done")
		e.Entity, e.Entry, e.Document, e.DocCentre = schemas.EntityDocument, entry(zip, kind), schemas.DocumentID(ref(zip).File, entry(zip, kind)), "H"
		e.Position, e.Rows = position, position*10
		return e
	}
	bad := named(hostileZip)
	bad.Centre, bad.Status, bad.Exception, bad.Message, bad.FileDate = "", "failed", "name_pattern", "<img src=x onerror=alert(2)>\u2028& no name", ""
	invalid := doc(badDocZip, "experiment", "xsd", "failed", 0)
	invalid.Exception, invalid.ErrorsTotal = "xsd_invalid", 5
	for i := range 4 {
		invalid.Errors = append(invalid.Errors, schemas.ErrorDetail{Line: int32(3 * (i + 1)), Column: 7, Exception: "xsd_enumeration", Message: fmt.Sprintf("value %d is\nnot one of them", i)})
	}
	refused := doc(badDocZip, "zzz", "xml_name", "failed", 0)
	refused.Exception, refused.Message = "name_kind", "the kind zzz is not known"
	lost, final := get(brokenZip, "unzip", "failed", "cc/bad_crc"), get(brokenZip, "unzip", "failed", "")
	lost.Exception = "bad_crc"
	final.Exception, final.Message, final.Accepted = "corrupted_at_producer", "bad CRC on every hosting", "cc/bad_crc"
	failed := doc(dataZip, "experiment", "data", "failed", 3)
	failed.Check, failed.Exception, failed.ErrorsTotal = 1, "specimen_unknown", 1
	failed.Errors = []schemas.ErrorDetail{{Line: 12, Column: 3, Exception: "specimen_unknown", Message: "as the tracker has it"}}
	other := named(otherZip)
	other.Centre, other.Status, other.Exception = "Ics", "failed", "name_date"
	opened := schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope, Number: 1, StartedAt: at(0)}
	polled := schemas.StatusChanged{Entity: schemas.EntityTask, Scope: scope, Phase: "zip_name", Status: "failed", Exception: "auth_failed", Message: "permission denied", FinishedAt: at(3)}
	centre := schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Attributes: map[string]string{"full_name": "MRC <Harwell>", "active": "true"}}
	source := schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"},
		Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available", "base_path": "/out"}}
	mirrored, strange := hosted(loadedZip), hosted(waitingZip)
	mirrored.Source, strange.Source = "mirror", "jax"
	strange.Note, strange.Attributes = "centre_not_hosted_here", map[string]string{"state": "gone", "message": "hosts: [H]"}
	elsewhere := source
	elsewhere.Scope, elsewhere.Attributes = schemas.Scope{Centre: "J", Source: "jax"}, map[string]string{"state": "available"}
	out := []schemas.StatusChanged{centre, mirrored, strange, elsewhere, source, opened, polled, bad, hosted(hostileZip), other, named(waitingZip), hosted(waitingZip), named(brokenZip), lost, final}
	out = append(append(out, fetched(loadedZip, 1)...), doc(loadedZip, "specimen", "overview", "done", 1))
	out = append(append(out, fetched(badDocZip, 3)...), doc(badDocZip, "specimen", "overview", "done", 2), invalid, refused)
	return append(append(out, fetched(dataZip, 2)...), failed, doc(dataZip, "specimen", "overview", "done", 4))
}

// filled is a tracker and a warehouse that hold the story.
func filled(t *testing.T) *pgxpool.Pool {
	t.Helper()
	stores := enginetest.Filled(t, "tracker and warehouse", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(trackersql.Migrate(ctx, pool), warehouse.Migrate(ctx, pool))
	})
	pool, err := pg.Open(t.Context(), stores, "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	codec := schemastest.Codec(t)
	r := sink.Range{Topic: schemas.StatusChangedTopic}
	for i, e := range story() {
		encoded, err := codec.Encode(schemas.Message{ID: schemas.ID("e", fmt.Sprint(i)), Topic: schemas.StatusChangedTopic, Stage: "test",
			Time: start().Add(time.Duration(i) * time.Second), Body: &e})
		if err != nil {
			t.Fatal(err)
		}
		rec := kafka.ToKgo("test", encoded)
		rec.Offset = int64(i)
		r.Records = append(r.Records, rec)
	}
	r.To = int64(len(r.Records))
	if err := tracker.New(config.Tracker{}, tracker.Deps{Pool: pool, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)}).Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	for position, d := range map[int64][2]string{1: {loadedZip, "specimen"}, 3: {dataZip, "experiment"}, 4: {dataZip, "specimen"}, 9: {badDocZip, "experiment"}} {
		exec(t, pool, `INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late, file, file_name, action, file_date, file_inc,
				document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc, archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key,
				attempt, download, unzip, profile, state, phase, exception, rows)
			VALUES ($1, '', '', 0, '', 'harwell', '', 'H', 1, false, $2, $3, 'add', '2012-10-02', 1,
				'', $4, 0, $5, 'H', '2012-10-02', 1, 'aa11', 0, 0, 0, 0, 0, '', '', '', '', 1, '', '', '', 'loaded', 'upload', '', 10)`,
			position, ref(d[0]).File, d[0], entry(d[0], d[1]), d[1])
	}
	exec(t, pool, `INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, fingerprint, content_position, content_ordinal, line, col, byte_from, byte_to, tombstone, is_current)
		SELECT 3, o, 'procedure_run', gen_random_uuid(), 'H', ARRAY['H', '<b>E' || o, NULL, '{"77","78"}'], gen_random_uuid(), 3, o, 12, 3, 0, 1, false, true FROM generate_series(2, 4) o`)
	exec(t, pool, `INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
		VALUES (3, 5, 2, 'specimen_unknown', 'H', 'procedure_run', '', 'error', 12, 3, 'no specimen <77>', true),
			(3, 2, 2, 'already_present', 'H', 'procedure_run', '', 'info', 11, 1, 'the same', true),
			(3, 4, 4, 'date_odd', 'H', 'procedure_run', '', 'warn', 40, 2, 'in the future', true),
			(3, 3, 3, 'date_odd', 'H', 'procedure_run', '', 'warn', 20, 2, 'closed again', false),
			(4, 1, 1, 'strain_missing', 'H', 'specimen', '', 'warn', 5, 0, 'no strain', true),
			(9, 1, 1, 'strain_missing', 'H', 'specimen', '', 'warn', 6, 1, 'of the version before', true),
			(1, 1, 1, 'already_present', 'H', 'specimen', '', 'info', 2, 2, 'the same', true)`)
	exec(t, pool, `INSERT INTO warehouse.finding_count SELECT centre, record_type, subject, test, level, count(*) FROM warehouse.finding WHERE open GROUP BY 1, 2, 3, 4, 5`)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func explain(name string) centrereport.Advice {
	switch name {
	case "corrupted_at_producer":
		return centrereport.Advice{Meaning: "The zip is damaged.", Remedy: "Make it anew."}
	case "date_odd":
		return centrereport.Advice{Meaning: "A date is <odd>."}
	}
	return centrereport.Advice{}
}

func made(t *testing.T, pool *pgxpool.Pool, o centrereport.Options) *centrereport.Report {
	t.Helper()
	o.Now, o.Explain = start().Add(time.Hour), explain
	r, err := centrereport.Read(t.Context(), pool, pool, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", path, d)
	}
}

func TestReport(t *testing.T) {
	r := made(t, filled(t), centrereport.Options{Centre: "h", Limits: centrereport.Limits{Errors: 3}})
	golden(t, "report.txt", written(t, r.WriteText))
	golden(t, "report.html", written(t, r.WriteHTML))
}

func TestReportOfAnUnknownCentre(t *testing.T) {
	_, err := centrereport.Read(t.Context(), filled(t), nil, centrereport.Options{Centre: "X"})
	if !errors.Is(err, centrereport.ErrNoCentre) {
		t.Errorf("got %v", err)
	}
}

func TestReportSince(t *testing.T) {
	pool := filled(t)
	if r := made(t, pool, centrereport.Options{Centre: "H", Since: start().AddDate(0, 0, -1)}); len(r.Problems) != 4 || len(r.Loaded) != 1 {
		t.Errorf("%d files with problems and %d loaded, want 4 and 1", len(r.Problems), len(r.Loaded))
	}
	r := made(t, pool, centrereport.Options{Centre: "H", Since: start().AddDate(0, 0, 1)})
	if len(r.Problems)+len(r.Loaded)+len(r.Files) != 0 || len(r.Pending) != 1 {
		t.Errorf("nothing happened since, but: %+v", r)
	}
}

// Whatever is left out is said.
func TestReportIsBounded(t *testing.T) {
	pool := filled(t)
	r := made(t, pool, centrereport.Options{Centre: "H", Limits: centrereport.Limits{Files: 1, Documents: 1, Errors: 1}})
	if len(r.Problems) != 1 || r.ProblemsLeft != 3 || len(r.Problems[0].Documents) != 1 || r.Problems[0].DocumentsLeft != 2 {
		t.Errorf("got %+v", r.Problems)
	}
	d := made(t, pool, centrereport.Options{Centre: "H", Limits: centrereport.Limits{Errors: 1}}).Problems[0].Documents[0]
	if len(d.Errors) != 1 || d.Left != 4 {
		t.Errorf("%d errors are listed and %d left, want 1 and 4", len(d.Errors), d.Left)
	}
	listed, left := 0, int64(0)
	for _, f := range made(t, pool, centrereport.Options{Centre: "H", Limits: centrereport.Limits{Lines: 2}}).Problems {
		for _, d := range f.Documents {
			left += d.Left
			for _, e := range d.Errors {
				if e.Line > 0 {
					listed++
				}
			}
		}
	}
	if listed != 2 || left != 8 {
		t.Errorf("%d errors are listed and %d left, want 2 and 8", listed, left)
	}
}

// Nothing that others chose becomes markup, and the page asks for nothing.
func TestHTMLIsInert(t *testing.T) {
	text := written(t, made(t, filled(t), centrereport.Options{Centre: "H"}).WriteHTML)
	for _, bad := range []string{"\x1b", "\u202e", "\u2028"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	targets, links, tables := map[string]bool{}, []string{}, 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "script", "img", "link", "iframe", "object", "b":
			t.Errorf("the page has an element %s", e.Name.Local)
		case "table":
			tables++
		}
		for _, a := range e.Attr {
			switch key := a.Name.Local; {
			case strings.HasPrefix(key, "on") || key == "src" || key == "href" && !strings.HasPrefix(a.Value, "#"):
				t.Errorf("the page has the attribute %s=%q", key, a.Value)
			case key == "href":
				links = append(links, a.Value)
			case key == "id":
				targets["#"+a.Value] = true
			}
		}
	}
	for _, l := range links {
		if !targets[l] {
			t.Errorf("the link %s leads nowhere", l)
		}
	}
	if n := strings.Count(text, "<caption>"); tables == 0 || n != tables {
		t.Errorf("%d tables have %d captions", tables, n)
	}
	if !strings.Contains(text, "H&lt;script&gt;alert(1)&lt;/script&gt;&amp;") {
		t.Error("the hostile name is not in the page")
	}
}
