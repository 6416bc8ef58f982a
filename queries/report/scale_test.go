package report_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
	"tributary/test/scale/plans"
)

// fillTracker is what the tracker knows after years: files of 20 centres, each hosted
// by one source and fetched once, in sessions of a hundred, with two documents. One in
// sixty has failed with one of them, one in a thousand waits for its documents.
const fillTracker = `
INSERT INTO tracker.an_exception (id, short_name) SELECT md5('x' || i)::uuid, 'exception_' || i FROM generate_series(0, 9) i;
INSERT INTO tracker.centre (id, short_name, merge) SELECT md5('c' || i)::uuid, 'C' || i, '{}' FROM generate_series(0, 19) i;
INSERT INTO tracker.file_source (id, short_name, merge) SELECT md5('s' || i)::uuid, 'source-' || i, '{}' FROM generate_series(0, 19) i;
INSERT INTO tracker.crawling_session (id, number, start_time, merge) SELECT md5('n' || i)::uuid, i, '2020-01-01'::timestamptz + i * interval '1 hour', '{}' FROM generate_series(0, {N} / 100) i;
INSERT INTO tracker.zip_file (id, file_name, centre_id, last_update, merge)
	SELECT md5('z' || i)::uuid, 'C' || i % 20 || '.2020-01-01.' || i || '.impc.zip', md5('c' || i % 20)::uuid, '2020-01-01', '{}' FROM generate_series(1, {N}) i;
INSERT INTO tracker.zip_action (id, zip_id, todo_id, phase_id, status_id, exception_id, download_id, attempts, created, last_update, merge)
	SELECT md5('a' || i)::uuid, md5('z' || i)::uuid, 1, CASE WHEN i % 60 = 7 THEN 6 WHEN i % 1000 = 8 THEN 4 ELSE 10 END, CASE WHEN i % 60 = 7 THEN 5 ELSE 3 END,
		CASE WHEN i % 60 = 7 THEN md5('x' || i % 10)::uuid END, md5('d' || i)::uuid, 1, '2020-01-01', '2020-01-01'::timestamptz + i * interval '1 minute', '{}' FROM generate_series(1, {N}) i;
INSERT INTO tracker.file_source_has_zip (id, za_id, file_source_id, num_retries, look, state, created, last_update, merge)
	SELECT md5('h' || i)::uuid, md5('a' || i)::uuid, md5('s' || i % 20)::uuid, 0, 1, 'present', '2020-01-01', '2020-01-01', '{}' FROM generate_series(1, {N}) i;
INSERT INTO tracker.zip_version (id, za_id, sha256, received, last_update, merge)
	SELECT md5('v' || i)::uuid, md5('a' || i)::uuid, md5('b' || i) || md5('B' || i), '2020-01-01', '2020-01-01', '{}' FROM generate_series(1, {N}) i;
INSERT INTO tracker.zip_download (id, za_id, zf_id, run, attempt, session_id, phase_id, status_id, accepted, version, documents, documents_known, documents_open, documents_failed, created, last_update, merge)
	SELECT md5('d' || i)::uuid, md5('a' || i)::uuid, md5('h' || i)::uuid, '00000000-0000-5000-8000-000000000000', 1, md5('n' || i / 100)::uuid, 4, 3, 'done', md5('b' || i) || md5('B' || i), 2, 2, 0, 0, '2020-01-01', '2020-01-01', '{}'
	FROM generate_series(1, {N}) i;
INSERT INTO tracker.xml_file (id, zip_id, outcome, fname, ordinal, phase_id, status_id, exception_id, errors_total, checked, session_id, first_seen, last_update, merge)
	SELECT md5('m' || i || '/' || k)::uuid, md5('d' || i)::uuid, 'done', 'C' || i % 20 || '.' || k || '.xml', k, CASE WHEN k = 1 AND i % 60 = 7 OR i % 1000 = 8 THEN 6 ELSE 10 END, CASE WHEN k = 1 AND i % 60 = 7 THEN 5 ELSE 3 END,
		CASE WHEN k = 1 AND i % 60 = 7 THEN md5('x' || i % 10)::uuid END, 0, 0, md5('n' || i / 100)::uuid, '2020-01-01', '2020-01-01'::timestamptz + i * interval '1 minute', '{}'
	FROM generate_series(1, {N}) i, generate_series(1, 2) k`

// Each list reads a page by index, whatever it is narrowed to, first pages and others. TRIBUTARY_SCALE_FILES is how many files there are.
func TestPagesByIndex(t *testing.T) {
	files := 60_000
	if text := os.Getenv("TRIBUTARY_SCALE_FILES"); text != "" {
		var err error
		if files, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TRIBUTARY_SCALE_FILES: %v", err)
		}
	}
	dsn := enginetest.Postgres(t)
	plain, err := pg.Open(t.Context(), dsn, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	if err := trackersql.Migrate(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	conn, err := plain.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for statement := range strings.SplitSeq("SET session_replication_role = replica;\nSET statement_timeout = '10min';\n"+fillTracker+";\nVACUUM (ANALYZE)", ";\n") {
		if _, err := conn.Exec(t.Context(), strings.ReplaceAll(statement, "{N}", strconv.Itoa(files))); err != nil {
			t.Fatalf("%.100s: %v", statement, err)
		}
	}
	at := func(n int) time.Time {
		return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	}
	filters := map[string]report.Filter{
		"all": {}, "status": {Status: "failed"}, "phase": {Phase: "xsd"}, "where it stands": {Phase: "unzip", Status: "done"}, "none there": {Phase: "context", Status: "failed"},
		"centre": {Centre: "c7"}, "failures of a centre": {Centre: "c7", Status: "failed"}, "exception": {Exception: "exception_7"}, "source": {Source: "source-7"},
		"session": {Session: schemas.ID("session", "none")}, "session by number": {Session: "17"}, "hash": {SHA256: "012345"}, "since": {Since: at(files - 20)}, "long ago": {Until: at(20)},
		"waiting": {Waiting: true}, "waiting long": {Waiting: true, Until: at(files / 2)}, "name": {Name: "C7.2020-01-01.27.impc.zip"}, "pattern": {Name: "C7.2020-01-01.27*"},
		"part": {Contains: "-01.2"}, "action": {Action: "add"},
	}
	var p plans.Watcher
	watched := p.Pool(t, dsn)
	p.Watch()
	for name, f := range filters {
		for _, f.Sort = range []string{report.ByName, report.Newest} {
			byName := f.Contains != "" || f.Phase+f.Status+f.Exception+f.Source == "" && !f.Waiting
			if f.Sort == report.Newest && f.Contains != "" || f.Sort == report.ByName && !byName {
				continue // see report.ByName; and parts of names are looked for name by name
			}
			began := time.Now()
			page, err := report.FilePage(t.Context(), watched, f)
			if err != nil {
				t.Errorf("files, %s: %v", name, err)
			}
			t.Logf("files, %s, %s: %d rows, %s", name, f.Sort, len(page.Rows), time.Since(began).Round(time.Millisecond))
			f.After = page.Next
			if _, err := report.FilePage(t.Context(), watched, f); err != nil {
				t.Errorf("files, %s: %v", name, err)
			}
			f.After, f.Errors, began = "", 1, time.Now()
			documents, err := report.DocumentPage(t.Context(), watched, f)
			if err != nil {
				t.Errorf("documents, %s: %v", name, err)
			}
			t.Logf("documents, %s, %s: %d rows, %s", name, f.Sort, len(documents.Rows), time.Since(began).Round(time.Millisecond))
			f.After = documents.Next
			if _, err := report.DocumentPage(t.Context(), watched, f); err != nil {
				t.Errorf("documents, %s: %v", name, err)
			}
			f.After, f.Errors = "", 0
		}
	}
	if _, err := watched.Exec(t.Context(), "SELECT 1"); err != nil { // Postgres tells of a statement when the next one comes
		t.Fatal(err)
	}
	p.Check(t, map[string]plans.Allowance{"SELECT v.": {Reason: "what has not come to a good end is looked through, however much of it passes", Work: 100}})
	if !p.Seen(fmt.Sprintf("LIMIT %d", report.DefaultPage+1)) {
		t.Error("no page was read")
	}
}
