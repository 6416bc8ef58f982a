package report_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

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
	pool := reporttest.Filled(t)
	files := func(f report.Filter, format string) string {
		return printed(t, format, report.FileHeader(), func(o *report.Output) error {
			return report.Files(t.Context(), pool, f, func(x report.File) error { return o.Row(x, x.Cells()...) })
		})
	}
	want := `{"file":"H.2012-10-02.01.impc.zip","action":"add","version":"aa11","centre":"H","source":"harwell","phase":"xsd","status":"failed","exception":"xsd_invalid","message":"no id","attempts":2,"size":120,"sha256":"aa11","last":"2026-11-21T10:00:16Z"}
{"file":"H.2012-10-03.01.impc.zip","action":"add","version":null,"centre":"H","source":"harwell","phase":"unzip","status":"failed","exception":"corrupted_at_producer","message":"bad CRC on both hostings","attempts":1,"size":null,"sha256":null,"last":"2026-11-21T10:00:19Z"}
{"file":"H.2012-10-09.01.impc.zip","action":"add","version":null,"centre":"H","source":null,"phase":"zip_name","status":"done","exception":null,"message":null,"attempts":0,"size":120,"sha256":null,"last":"2026-11-21T10:00:21Z"}
{"file":"H2012.zip","action":"add","version":null,"centre":null,"source":null,"phase":"zip_name","status":"failed","exception":"name_pattern","message":null,"attempts":0,"size":null,"sha256":null,"last":"2026-11-21T10:00:07Z"}
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
	table := files(report.Filter{Name: reporttest.GoodZip}, report.Table)
	if want := "FILE                      ACTION  CENTRE  SOURCE   PHASE  STATUS  EXCEPTION    ATTEMPTS  SIZE  VERSION  MESSAGE\n" +
		"H.2012-10-02.01.impc.zip  add     H       harwell  xsd    failed  xsd_invalid  2         120   aa11     no id\n"; table != want {
		t.Errorf("table:\n%s\nwant:\n%s", table, want)
	}
}

func TestDocuments(t *testing.T) {
	pool := reporttest.Filled(t)
	got := printed(t, report.JSON, nil, func(o *report.Output) error {
		return report.Documents(t.Context(), pool, report.Filter{}, func(x report.Document) error { return o.Row(x) })
	})
	want := `{"document":"H.2012-10-02.1.experiment.impc.xml","file":"H.2012-10-02.01.impc.zip","action":"add","version":"aa11","centre":"H","phase":"xsd","status":"failed","errors":[{"line":3,"column":7,"exception":"xsd_missing","message":"no id"},{"line":9,"column":2,"exception":"xsd_enumeration","message":"not\none of them"}],"errors_total":2,"last":"2026-11-21T10:00:15Z","sha256":null}
{"document":"H.2012-10-02.1.specimen.impc.xml","file":"H.2012-10-02.01.impc.zip","action":"add","version":"aa11","centre":"H","phase":"overview","status":"done","errors":[],"errors_total":0,"last":"2026-11-21T10:00:14Z","sha256":null}
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSourcesAndCentres(t *testing.T) {
	pool := reporttest.Filled(t)
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
	pool := reporttest.Filled(t)
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
	if err := report.Known(t.Context(), reporttest.Told(t, nil), "H", ""); err == nil || err.Error() != `there is no centre "H": none is known yet` {
		t.Errorf("before anything was told: %v", err)
	}
}

// A file that is pending says how it was not fetched before.
func TestAPendingFileSaysWhyItWasNotFetched(t *testing.T) {
	scope := schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}
	ref := schemas.FileRef{File: schemas.FileID("add", reporttest.GoodZip), FileName: reporttest.GoodZip, Action: "add"}
	attempt := func(n int32, status, exception string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: n, Phase: "download", Status: status, Outcome: exception, Exception: exception}
	}
	accepted := attempt(1, "failed", "too_slow")
	accepted.Outcome, accepted.Accepted = "", "too_slow"
	none := attempt(2, "cancelled", "no_room")
	none.Accepted = "no_room"
	pool := reporttest.Told(t, []schemas.StatusChanged{
		{Scope: scope, FileRef: ref, Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", FileDate: "2012-10-02", FileInc: 1},
		attempt(1, "pending", ""), attempt(1, "failed", "too_slow"), accepted, attempt(2, "pending", ""), none, attempt(3, "pending", ""),
	})
	s, err := report.Stand(t.Context(), pool, reporttest.Start().Add(time.Minute), 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Oldest) != 1 || s.Oldest[0].Reason != "requested from harwell; waits for download; attempt 2 ended no_room" {
		t.Errorf("got %+v", s.Oldest)
	}
}

func TestStand(t *testing.T) {
	pool := reporttest.Filled(t)
	s, err := report.Stand(t.Context(), pool, reporttest.Start().Add(time.Minute), 10)
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
	if err := s.WriteText(&b, reporttest.Start().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"session 1, open since 2026-11-21 10:00:00Z", "4 files", "1 files pending", "59m40s", "waits to be fetched", "1 records of the event log"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestShow(t *testing.T) {
	pool := reporttest.Filled(t)
	stories, err := report.Show(t.Context(), pool, reporttest.GoodZip, "")
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
	for _, want := range []string{"stands at   xsd, failed", "attempt 1 reported (download, failed) truncated: 40 of 120 bytes", "3:7: xsd_missing: no id", "9:2: xsd_enumeration: not one of them", "ics      gone",
		"attempt 1 was answered: HTTP/1.1 200 OK; Content-Length: 120", "attempt 2 went on at byte 40", "harwell says title: Mice of harwell"} {
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

// A file tells which other files of its centre have had its bytes, who had them first at
// the beginning; those of another centre are not told of.
func TestFilesOfTheSameBytes(t *testing.T) {
	events := reporttest.Story()
	for i, as := range []struct{ name, centre string }{{"H.2013-01-02.01.impc.zip", "H"}, {"J.2013-01-02.01.impc.zip", "J"}} {
		for _, e := range reporttest.Story() {
			if e.FileName != reporttest.GoodZip || e.Entity == schemas.EntityDocument {
				continue
			}
			e.FileName, e.File, e.Centre = as.name, schemas.FileID(e.Action, as.name), as.centre
			if e.FinishedAt != nil {
				later := e.FinishedAt.Add(time.Duration(i+1) * time.Hour)
				e.FinishedAt = &later
			}
			events = append(events, e)
		}
	}
	pool := reporttest.Told(t, events)
	for name, want := range map[string][]string{reporttest.GoodZip: {"H.2013-01-02.01.impc.zip"}, "H.2013-01-02.01.impc.zip": {reporttest.GoodZip}, "J.2013-01-02.01.impc.zip": nil} {
		stories, err := report.Show(t.Context(), pool, name, "")
		if err != nil || len(stories) != 1 {
			t.Fatalf("%s: %v, %v", name, stories, err)
		}
		var got []string
		for _, o := range stories[0].SameBytes {
			got = append(got, o.File)
		}
		var b strings.Builder
		if err := stories[0].WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || strings.Contains(b.String(), "same bytes") != (want != nil) {
			t.Errorf("%s (- want, + got):\n%s%s", name, d, b.String())
		}
	}
}
