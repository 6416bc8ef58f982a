package scale

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	trackersql "tributary/sql/tracker"
	"tributary/test/scale/plans"
	"tributary/web/access"
	"tributary/web/api"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// large are the tables of the tracker that grow with files and polls.
func large() []string {
	return []string{"zip_file", "zip_action", "file_source_has_zip", "zip_version", "zip_download", "xml_file", "zip_log", "xml_log", "poll_task", "batch", "ordered"}
}

// ways are addresses beside each page's own: what pages link, and what people ask.
func ways() []string {
	return []string{
		"/?span=24h", "/?span=7d", "/files?waiting=true", "/files?status=failed", "/files?phase=xsd&status=failed", "/files?phase=xsd&status=failed&centre=c7", "/files?centre=c7&status=failed", "/files?phase=overview&status=done", "/files?exception=exception_7", "/files?source=source-7",
		"/files?session=17", "/files?q=C7.2020-01-01.27*", "/files?sort=name", "/documents?status=failed", "/documents?centre=C7", "/centres/C3", "/quality?qc=held", "/quality?centre=C7", "/files?qc=questioned",
		"/audit?by=person-7", "/audit?kind=source", "/audit?since=3000d&until=1d", "/audit?q=c7.2020",
		"/api/v1/changed?since=3000d", "/api/v1/files?centre=C7&limit=100", "/api/v1/documents?status=failed&sort=newest", "/api/v1/audit?limit=100&by=person-7",
	}
}

// addresses are those of all pages that are read, with values for what is named in them.
func addresses(t *testing.T, routes []access.Route) []string {
	t.Helper()
	values := strings.NewReplacer("{$}", "", "{action}/{name}", "add/C7.2020-01-01.27.impc.zip", "{entry...}", "C7.1.xml", "/centres/{name}", "/centres/C7", "/centres/{id}", "/centres/C7",
		"{id}", "source-7", "{source}", "source-7", "{number}", "17", "{recipe}", "throughput",
		"{centre}", "C7", "{check}", "a_check", "{replay}", "1", "{position}/{ordinal}", "1/1", "{file}", "sources.yaml")
	asks := map[string]string{"/api/v1/diff": "?from=1h", "/api/v1/changed": "?since=1h", "/api/v1/definitions": "?of=sources",
		"/api/v1/files/{action}/{name}/document": "?entry=C7.1.xml", "/api/v1/files/{action}/{name}/document/errors": "?entry=C7.1.xml", "/api/v1/own/files/{action}/{name}/document": "?entry=C7.1.xml",
		"/notices.xml": "?when=file_failed", "/api/v1/lineage": "?of=part&of=1", "/api/v1/why": "?path=add/C7.2020-01-01.27.impc.zip"}
	// The story is no longer than the weeks of which these tell, so that they read all of it.
	weeks := []string{"/own", "/own/weeks/{week}", "/own/feed.xml", "/own/{nothing...}", "/api/v1/own", "/api/v1/own/weeks/{week}"}
	var out []string
	for _, r := range routes {
		path, read := strings.CutPrefix(r.Pattern, "GET ")
		if !read || path == "/" || slices.Contains(weeks, path) || strings.HasPrefix(path, access.CentrePath+"/") { // by a link the same is read as by an account
			continue
		}
		if path = values.Replace(path) + asks[path]; strings.Contains(path, "{") {
			t.Errorf("%s: give the test a value for what it names", r.Pattern)
			continue
		}
		out = append(out, path)
	}
	return append(out, ways()...)
}

// served are pages and API of a tracker, at a moment.
func served(t *testing.T, site pages.Site, tracker *pgxpool.Pool, now time.Time) (http.Handler, []access.Route) {
	t.Helper()
	site.Tracker, site.Prefix, site.Now = tracker, "", func() time.Time { return now }
	s, err := pages.New(site)
	if err != nil {
		t.Fatal(err)
	}
	programs := api.New(api.Deps{Tracker: tracker, Now: site.Now, Log: slog.New(slog.DiscardHandler), Version: "1"})
	routes := slices.Concat(s.Routes(), programs.Routes())
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.Pattern, r.Handler)
	}
	return mux, routes
}

// ask asks for a page, which is to be there.
func ask(t *testing.T, handler http.Handler, address string) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	who := access.Person{Name: "ann", Role: access.Operator}
	if strings.HasPrefix(address, "/own") || strings.HasPrefix(address, "/api/v1/own") {
		who = access.Person{Name: "pat", Role: access.Producer, Centre: "C7"}
	}
	handler.ServeHTTP(w, httptest.NewRequestWithContext(access.With(t.Context(), who), http.MethodGet, address, nil))
	if w.Code != http.StatusOK && w.Code != http.StatusServiceUnavailable && !strings.HasSuffix(address, ".svg") { // what lies in other stores is not there
		t.Errorf("%s: %d %.300s", address, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// Pages and API of a tracker with very many files find by index what they show: no
// statement looks at more than what it gives accounts for, and none reads a table
// whole that grows with files or polls.
func TestPagesAndAPIByIndex(t *testing.T) {
	dsn, plain := tracker(t)
	files := number(t, "TRIBUTARY_SCALE_FILES", 60_000)
	byIndex(t, dsn, plain, reporttest.Fill(t, plain, files), files)
}

// handedOutWhole tells whether an address is no page but a file of all that there is, as a
// report to a centre is: one pass over what failed, a thousand documents at a time, by one of
// the few askers at once.
func handedOutWhole(address string) bool { return strings.HasSuffix(address, "/errors.csv") }

func byIndex(t *testing.T, dsn string, plain *pgxpool.Pool, years reporttest.Years, known int) {
	t.Helper()
	p := plans.Watcher{Large: large()}
	site := pagestest.Site(t, plain)
	site.History = nil
	site.Advice = nil // a report to a centre reads all of its files, as its command does: in a minute at most, few at once
	watched := p.Pool(t, dsn)
	handler, routes := served(t, site, watched, years.End)
	p.Watch()
	for _, address := range addresses(t, routes) {
		if handedOutWhole(address) && known > 100_000 {
			continue // of so many, each of its statements passes over what failed at other centres
		}
		began := time.Now()
		ask(t, handler, address)
		t.Logf("%s: %s", address, time.Since(began).Round(time.Millisecond))
	}
	// What a page of a moment asks of the tracker of now.
	at := years.Begin.Add(years.End.Sub(years.Begin) / 2)
	before, after, err := report.EndsAround(t.Context(), watched, at)
	if err != nil || before == nil || after == nil || after.Number != before.Number+1 || !before.At.Before(at) || !after.At.After(at) {
		t.Errorf("around %s sessions ended: %v and %v, %v", at, before, after, err)
	}
	if came, err := report.Received(t.Context(), watched, at, report.Span{Step: time.Hour, Steps: 168}); err != nil || came.Total == 0 {
		t.Errorf("in the week before %s %v files were received: %v", at, came.Total, err)
	}
	if _, err := watched.Exec(t.Context(), "SELECT 1"); err != nil { // Postgres tells of a statement when the next one comes
		t.Fatal(err)
	}
	p.Check(t, map[string]plans.Allowance{
		"WITH changed AS ( SELECT a.zip_id":    {Reason: "of what changed since a moment the 10,000 that changed last are read", Work: 10_001},
		"SELECT p.period, x.step, x.n FROM":    {Reason: "what was received in seven days, and in those of the four weeks before, is counted by index", Work: 5 * 7 * 24 * 100 / 300},
		"SELECT step, percentile_cont":         {Reason: "how long files took that were first seen in seven days is read by index", Work: 7 * 24 * 100 / 300},
		"SELECT s.short_name, w.files, least(": {Reason: "what waits to be fetched is counted, also for one source: one in a thousand files", Work: known / 1000},
		"WITH failed AS ( SELECT exception_id": {Reason: "which of the files that wait were tried before is asked of each of them", Work: known / 1000},
		"SELECT v.file, v.action":              {Reason: "the newest files of one of twenty sources are looked for among those of all", Work: 51},
		"WITH k AS MATERIALIZED ( SELECT s.id": {Reason: "how long fetching took is read of forty sessions, of a hundred files of all sources each", Work: 5 * 140},
	})
	if !p.Seen("FROM tracker.standing") || !p.Seen("FROM tracker.session s") {
		t.Error("statements that the test is about were not executed")
	}
	var status struct {
		Files   []struct{ Count int64 }
		Pending int64
	}
	if err := json.Unmarshal(ask(t, handler, "/api/v1/status"), &status); err != nil {
		t.Fatal(err)
	}
	var files, pending int64
	for _, c := range status.Files {
		files += c.Count
	}
	if err := plain.QueryRow(t.Context(), "SELECT count(*) FROM tracker.file WHERE NOT ended").Scan(&pending); err != nil {
		t.Fatal(err)
	}
	if files != int64(known) || status.Pending != pending || pending == 0 {
		t.Errorf("%d files, %d pending; %d are", files, status.Pending, pending)
	}
}

// tracker is an empty tracker.
func tracker(t *testing.T) (dsn string, pool *pgxpool.Pool) {
	t.Helper()
	dsn = enginetest.Filled(t, "tracker", trackersql.Migrate)
	pool, err := pg.Open(t.Context(), dsn, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return dsn, pool
}
