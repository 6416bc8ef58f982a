package report_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/queries/report"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

const goodZip, badZip, brokenZip = "H.2012-10-02.01.impc.zip", "H2012.zip", "H.2012-10-03.01.impc.zip"

func start() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// filled is a tracker that holds a small story: a good file of two documents of
// which one fails, on two sources; a file with a bad name; one that no source
// delivers; and one that waits.
func filled(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return told(t, story())
}

// told is a tracker that has read some events.
func told(t *testing.T, events []schemas.StatusChanged) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "tracker", trackersql.Migrate), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	r := sink.Range{Topic: schemas.StatusChangedTopic}
	for i, e := range events {
		encoded, err := codec.Encode(schemas.Message{ID: schemas.ID("e", string(rune(i))), Topic: schemas.StatusChangedTopic, Stage: "test",
			Time: start().Add(time.Duration(i) * time.Second), Body: &e})
		if err != nil {
			t.Fatal(err)
		}
		rec := kafka.ToKgo("test", encoded)
		rec.Offset = int64(i)
		r.Records = append(r.Records, rec)
	}
	r.To = int64(len(r.Records))
	r.Records = append(r.Records, &kgo.Record{Offset: r.To, Value: []byte("?")})
	r.To++
	if err := tracker.New(config.Tracker{}, tracker.Deps{Pool: pool, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)}).Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	return pool
}

func story() []schemas.StatusChanged {
	at := func(s int) *time.Time { t := start().Add(time.Duration(s) * time.Second); return &t }
	ref := func(name string) schemas.FileRef {
		return schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}
	}
	scope := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: "harwell"}
	named := func(name string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref(name), Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", FileDate: "2012-10-02", FileInc: 1}
	}
	hosted := func(name, source, state string) schemas.StatusChanged {
		s := scope
		s.Source, s.Centre = source, "Ics"
		return schemas.StatusChanged{Scope: s, FileRef: ref(name), Entity: schemas.EntityHosting, Look: 1, FileSize: 120, ListedAt: at(1), Attributes: map[string]string{"state": state}}
	}
	get := func(name string, attempt int32, phase, status, outcome string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref(name), Entity: schemas.EntityDownload, Attempt: attempt, Phase: phase, Status: status, Outcome: outcome}
	}
	bad := named(badZip)
	bad.Centre, bad.Source, bad.Status, bad.Exception, bad.FileDate = "", "", "failed", "name_pattern", ""
	requested := get(goodZip, 1, "download", "pending", "")
	requested.RequestedAt = at(5)
	truncated := get(goodZip, 1, "download", "failed", "truncated")
	truncated.Exception, truncated.Message = "truncated", "40 of 120 bytes"
	accepted1 := get(goodZip, 1, "", "", "")
	accepted1.Accepted = "truncated"
	fetched := get(goodZip, 2, "zip_md5", "done", "aa11")
	fetched.SHA256, fetched.MD5, fetched.Bytes, fetched.FinishedAt, fetched.Note = "aa11", "bb", 120, at(9), "no_checksum"
	unzipped := get(goodZip, 2, "unzip", "done", "aa11/done")
	unzipped.Rows, unzipped.FinishedAt = 2, at(10)
	accepted2 := get(goodZip, 2, "", "", "")
	accepted2.Accepted = "aa11/done"
	doc := func(entry, phase, status string) schemas.StatusChanged {
		e := get(goodZip, 2, phase, status, "aa11/done")
		e.Entity, e.Entry, e.Document, e.DocCentre = schemas.EntityDocument, entry, schemas.DocumentID(ref(goodZip).File, entry), "H"
		return e
	}
	invalid := doc("H.2012-10-02.1.experiment.impc.xml", "xsd", "failed")
	invalid.Exception, invalid.ErrorsTotal = "xsd_invalid", 2
	invalid.Errors = []schemas.ErrorDetail{{Line: 9, Column: 2, Exception: "xsd_enumeration", Message: "not\none of them"}, {Line: 3, Column: 7, Exception: "xsd_missing", Message: "no id"}}
	lost := get(brokenZip, 1, "unzip", "failed", "cc/bad_crc")
	lost.Exception = "bad_crc"
	final := get(brokenZip, 1, "unzip", "failed", "")
	final.Exception, final.Message, final.Accepted = "corrupted_at_producer", "bad CRC on both hostings", "cc/bad_crc"
	waits := named("H.2012-10-09.01.impc.zip")
	opened := schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope, Number: 1, StartedAt: at(0)}
	polled := schemas.StatusChanged{Entity: schemas.EntityTask, Scope: scope, Phase: "zip_name", Status: "done", FinishedAt: at(3), Attributes: map[string]string{"listed": "4"}}
	centre := schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Attributes: map[string]string{"full_name": "MRC Harwell", "active": "true"}}
	source := schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"},
		Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available", "base_path": "/out", "accesskey": "file:key"}}
	return []schemas.StatusChanged{
		centre, source, opened, polled, named(goodZip), hosted(goodZip, "harwell", "present"), hosted(goodZip, "ics", "gone"), bad,
		requested, truncated, accepted1, get(goodZip, 2, "download", "pending", ""), fetched, accepted2,
		doc("H.2012-10-02.1.specimen.impc.xml", "overview", "done"), invalid, unzipped,
		named(brokenZip), lost, final, waits, hosted("H.2012-10-09.01.impc.zip", "harwell", "present"),
	}
}

// printed is what a listing writes.
func printed(t *testing.T, format string, header []string, list func(*report.Output) error) string {
	t.Helper()
	var b strings.Builder
	out, err := report.NewOutput(&b, format, header...)
	if err != nil {
		t.Fatal(err)
	}
	if err := list(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFiles(t *testing.T) {
	pool := filled(t)
	files := func(f report.Filter, format string) string {
		return printed(t, format, report.FileHeader(), func(o *report.Output) error {
			return report.Files(t.Context(), pool, f, func(x report.File) error { return o.Row(x, x.Cells()...) })
		})
	}
	want := `{"file":"H.2012-10-02.01.impc.zip","action":"add","version":"aa11","centre":"H","source":"harwell","phase":"xsd","status":"failed","exception":"xsd_invalid","message":"no id","attempts":2,"size":120,"sha256":"aa11"}
{"file":"H.2012-10-03.01.impc.zip","action":"add","version":null,"centre":"H","source":"harwell","phase":"unzip","status":"failed","exception":"corrupted_at_producer","message":"bad CRC on both hostings","attempts":1,"size":null,"sha256":null}
{"file":"H.2012-10-09.01.impc.zip","action":"add","version":null,"centre":"H","source":null,"phase":"zip_name","status":"done","exception":null,"message":null,"attempts":0,"size":120,"sha256":null}
{"file":"H2012.zip","action":"add","version":null,"centre":null,"source":null,"phase":"zip_name","status":"failed","exception":"name_pattern","message":null,"attempts":0,"size":null,"sha256":null}
`
	if d := cmp.Diff(want, files(report.Filter{}, report.JSON)); d != "" {
		t.Error(d)
	}
	for name, tc := range map[string]struct {
		filter report.Filter
		want   int
	}{
		"all":            {report.Filter{}, 4},
		"wildcard":       {report.Filter{Name: "H.*.zip"}, 3},
		"no wildcard":    {report.Filter{Name: "H_2012-10-02.01.impc.zip"}, 0},
		"centre":         {report.Filter{Centre: "h"}, 3},
		"source":         {report.Filter{Source: "harwell"}, 2},
		"phase, status":  {report.Filter{Phase: "unzip", Status: "failed"}, 1},
		"exception":      {report.Filter{Exception: "name_pattern"}, 1},
		"action":         {report.Filter{Action: "edit"}, 0},
		"limit":          {report.Filter{Limit: 2}, 2},
		"session":        {report.Filter{Session: schemas.ID("session", "1")}, 2},
		"not an SQL bug": {report.Filter{Name: "'; DROP SCHEMA tracker; --"}, 0},
	} {
		if got := strings.Count(files(tc.filter, report.JSON), "\n"); got != tc.want {
			t.Errorf("%s: %d files, want %d", name, got, tc.want)
		}
	}
	table := files(report.Filter{Name: goodZip}, report.Table)
	if want := "FILE                      ACTION  CENTRE  SOURCE   PHASE  STATUS  EXCEPTION    ATTEMPTS  SIZE  VERSION  MESSAGE\n" +
		"H.2012-10-02.01.impc.zip  add     H       harwell  xsd    failed  xsd_invalid  2         120   aa11     no id\n"; table != want {
		t.Errorf("table:\n%s\nwant:\n%s", table, want)
	}
}

func TestDocuments(t *testing.T) {
	pool := filled(t)
	got := printed(t, report.JSON, nil, func(o *report.Output) error {
		return report.Documents(t.Context(), pool, report.Filter{}, func(x report.Document) error { return o.Row(x) })
	})
	want := `{"document":"H.2012-10-02.1.experiment.impc.xml","file":"H.2012-10-02.01.impc.zip","action":"add","version":"aa11","centre":"H","phase":"xsd","status":"failed","errors":[{"line":3,"column":7,"exception":"xsd_missing","message":"no id"},{"line":9,"column":2,"exception":"xsd_enumeration","message":"not\none of them"}]}
{"document":"H.2012-10-02.1.specimen.impc.xml","file":"H.2012-10-02.01.impc.zip","action":"add","version":"aa11","centre":"H","phase":"overview","status":"done","errors":[]}
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSourcesAndCentres(t *testing.T) {
	pool := filled(t)
	if _, err := pool.Exec(t.Context(), `INSERT INTO tracker.source_revision (id, file_source_id, revision, declared, definition, created)
		SELECT gen_random_uuid(), s.id, r.n, true, r.d, now() FROM tracker.file_source s,
			(VALUES ('harwell', 1, '{"server": "then"}'), ('harwell', 2, '{"server": "both:22", "later": 1}'), ('ics', 1, 'nonsense')) r(source, n, d) WHERE s.short_name = r.source`); err != nil {
		t.Fatal(err)
	}
	var sources []string
	if err := report.Sources(t.Context(), pool, func(s report.Source) error {
		sources = append(sources, strings.Join(s.Cells(), "|"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"harwell|H|sftp|h:22 (counted as both:22)|/out|available|2|2026-11-21 10:00:03Z|done||", "ics||||||0||||"}, sources); d != "" {
		t.Error(d)
	}
	var centres []string
	if err := report.Centres(t.Context(), pool, func(c report.Centre) error {
		centres = append(centres, strings.Join(c.Cells(), "|"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"H|MRC Harwell|true|1|3|0|2|1|2"}, centres); d != "" {
		t.Error(d)
	}
}

// Who asks for a centre or a source that nobody has heard of is told so, and
// what there is; an empty answer would read as good news.
func TestWhatIsNotKnown(t *testing.T) {
	pool := filled(t)
	files := func(f report.Filter) error {
		return report.Files(t.Context(), pool, f, func(report.File) error { return nil })
	}
	documents := func(f report.Filter) error {
		return report.Documents(t.Context(), pool, f, func(report.Document) error { return nil })
	}
	for _, tc := range []struct {
		ask    func(report.Filter) error
		filter report.Filter
		want   string
	}{
		{files, report.Filter{Centre: "Nowhere"}, `there is no centre "Nowhere": known are H`},
		{documents, report.Filter{Centre: "Nowhere"}, `there is no centre "Nowhere": known are H`},
		{files, report.Filter{Source: "Harwell"}, `there is no source "Harwell": known are harwell, ics`},
		{files, report.Filter{Centre: "h", Source: "ics"}, ""},
		{files, report.Filter{Centre: "h", Exception: "none"}, ""},
		{documents, report.Filter{Centre: "h", Exception: "none"}, ""},
	} {
		err := tc.ask(tc.filter)
		if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
			t.Errorf("%+v: %v, want %q", tc.filter, err, tc.want)
		}
	}
	if err := report.Known(t.Context(), told(t, nil), "H", ""); err == nil || err.Error() != `there is no centre "H": none is known yet` {
		t.Errorf("before anything was told: %v", err)
	}
}

// A file that is pending says how it was not fetched before.
func TestAPendingFileSaysWhyItWasNotFetched(t *testing.T) {
	scope := schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}
	ref := schemas.FileRef{File: schemas.FileID("add", goodZip), FileName: goodZip, Action: "add"}
	attempt := func(n int32, status, exception string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: n, Phase: "download", Status: status, Outcome: exception, Exception: exception}
	}
	accepted := attempt(1, "failed", "too_slow")
	accepted.Outcome, accepted.Accepted = "", "too_slow"
	none := attempt(2, "cancelled", "no_room")
	none.Accepted = "no_room"
	pool := told(t, []schemas.StatusChanged{
		{Scope: scope, FileRef: ref, Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", FileDate: "2012-10-02", FileInc: 1},
		attempt(1, "pending", ""), attempt(1, "failed", "too_slow"), accepted, attempt(2, "pending", ""), none, attempt(3, "pending", ""),
	})
	s, err := report.Stand(t.Context(), pool, start().Add(time.Minute), 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Oldest) != 1 || s.Oldest[0].Reason != "requested from harwell; waits for download; attempt 2 ended no_room" {
		t.Errorf("got %+v", s.Oldest)
	}
}

func TestStand(t *testing.T) {
	pool := filled(t)
	s, err := report.Stand(t.Context(), pool, start().Add(time.Minute), 10)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]report.Count{{Phase: "zip_name", Status: "done", Count: 1}, {Phase: "zip_name", Status: "failed", Count: 1},
		{Phase: "unzip", Status: "failed", Count: 1}, {Phase: "xsd", Status: "failed", Count: 1}}, s.Files); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]report.Count{{Phase: "xsd", Status: "failed", Count: 1}, {Phase: "overview", Status: "done", Count: 1}}, s.Documents); d != "" {
		t.Error(d)
	}
	if s.Pending != 1 || len(s.Oldest) != 1 || s.Oldest[0].Reason != "waits to be fetched" || s.Odd != 1 || s.Rates.Files != 0.2 || s.Rates.Documents != 0.4 {
		t.Errorf("got %+v", s)
	}
	var b strings.Builder
	if err := s.WriteText(&b, start().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"session 1, open since 2026-11-21 10:00:00Z", "4 files", "1 files pending", "59m40s", "waits to be fetched", "1 records of the event log"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestShow(t *testing.T) {
	pool := filled(t)
	stories, err := report.Show(t.Context(), pool, goodZip, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(stories) != 1 || len(stories[0].Hostings) != 2 || len(stories[0].Tries) != 2 || len(stories[0].Documents) != 2 || len(stories[0].Versions) != 1 {
		t.Fatalf("got %+v", stories)
	}
	var b strings.Builder
	if err := stories[0].WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stands at   xsd, failed", "attempt 1 reported (download, failed) truncated: 40 of 120 bytes", "3:7: xsd_missing: no id", "9:2: xsd_enumeration: not one of them", "ics      gone"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if _, err := report.Show(t.Context(), pool, "nothing.zip", ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("an unknown file: %v", err)
	}
}

func TestOutputRefusesUnknownFormats(t *testing.T) {
	if _, err := report.NewOutput(&strings.Builder{}, "xml"); err == nil || !strings.Contains(err.Error(), "table, json, csv") {
		t.Errorf("got %v", err)
	}
}

// sqlOn runs a statement and returns what it wrote.
func sqlOn(ctx context.Context, s report.Store, statement, format string) (string, error) {
	var b strings.Builder
	err := report.SQL(ctx, s, statement, &b, format)
	return b.String(), err
}
