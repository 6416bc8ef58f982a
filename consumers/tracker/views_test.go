//go:build !race

package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/schemas/exception"
	trackersql "tributary/sql/tracker"
)

// The views for people, of a log whose story is known: two sources polled, of
// which one could not be; a file that went well, one with a bad document and an
// open one, one that could not be fetched, one that waits.
func TestViewsForPeople(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	session := schemas.ID("session", "1")
	clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var log []event
	add := func(e schemas.StatusChanged) {
		clock = clock.Add(time.Second)
		e.Session = session
		log = append(log, event{clock, e})
	}
	when := func() *time.Time { now := clock; return &now }
	for _, name := range []string{"s", "down"} {
		add(schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: name}, Revision: 1, Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available"}})
	}
	add(schemas.StatusChanged{Entity: schemas.EntitySession, Number: 7, StartedAt: when()})
	add(schemas.StatusChanged{Entity: schemas.EntityTask, Scope: schemas.Scope{Source: "s"}, Phase: "zip_name", Status: "done", FinishedAt: when()})
	add(schemas.StatusChanged{Entity: schemas.EntityTask, Scope: schemas.Scope{Source: "down"}, Phase: "zip_name", Status: "failed", Exception: "connection_failed", Message: "refused", FinishedAt: when()})
	whole := func(name string, documents int64) {
		for _, e := range unzippedFile(name, documents) {
			e.Source, e.Centre, e.FinishedAt = "s", "H", when()
			add(e)
		}
	}
	whole("H.2012-10-02.1.impc.zip", 1)
	add(documentAt("H.2012-10-02.1.impc.zip", "a.xml", step{Phase: 10, Status: done}))
	whole("H.2012-10-02.2.impc.zip", 2)
	bad := documentAt("H.2012-10-02.2.impc.zip", "b.xml", step{Phase: 6, Status: failed, Exception: "xsd_invalid"})
	bad.Errors, bad.ErrorsTotal = []schemas.ErrorDetail{{Line: 9, Column: 2, Exception: "xsd_invalid", Message: "late"}, {Line: 3, Column: 4, Exception: "xsd_invalid", Message: "early"}}, 2
	add(bad)
	add(documentAt("H.2012-10-02.2.impc.zip", "c.xml", step{Phase: 6, Status: done}))
	lost := unzippedFile("H.2012-10-02.3.impc.zip", 1)[0]
	lost.Source, lost.Status, lost.Phase, lost.Exception, lost.Message, lost.Outcome, lost.Accepted, lost.SHA256 = "s", "failed", "download", "file_gone", "no such file", "file_gone", "file_gone", ""
	add(lost)
	other := unzippedFile("H.2012-10-02.5.impc.zip", 1)[0]
	other.Source, other.Centre, other.Status, other.Phase, other.Exception, other.Outcome, other.SHA256, other.Bytes = "s", "H", "failed", "zip_md5", "checksum_mismatch", "checksum_mismatch", "", 7
	add(other)
	other.Accepted, other.Bytes = "checksum_mismatch", 0
	add(other)
	waits := schemas.StatusChanged{Entity: schemas.EntityFile, Scope: schemas.Scope{Centre: "H"}, FileRef: schemas.FileRef{FileName: "H.2012-10-02.4.impc.zip", Action: "add"}, Phase: "zip_name", Status: "done"}
	add(waits)
	hosted := waits
	hosted.Entity, hosted.Source, hosted.Look, hosted.Attributes = schemas.EntityHosting, "s", 1, map[string]string{"state": "present"}
	add(hosted)
	add(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: schemas.Scope{Centre: "H"}, Number: 1, Status: "running"})
	apply(t, tr, 0, log...)

	for view, want := range map[string]struct {
		sql  string
		rows []string
	}{
		"file": {"SELECT file || ' ' || phase || ' ' || status || ' ' || ended FROM tracker.file ORDER BY file", []string{
			"H.2012-10-02.1.impc.zip overview done true", "H.2012-10-02.2.impc.zip xsd failed false", "H.2012-10-02.3.impc.zip download failed true", "H.2012-10-02.4.impc.zip zip_name done false",
			"H.2012-10-02.5.impc.zip zip_md5 failed true"}},
		"late": {"SELECT file || ': ' || waits_for || coalesce(', session ' || session, '') || coalesce(', closed ' || session_closed, '') FROM tracker.late", []string{
			"H.2012-10-02.2.impc.zip: 1 of its other documents have not ended, session 7", "H.2012-10-02.4.impc.zip: waits to be fetched"}},
		"failure": {`SELECT concat_ws(' ', what, coalesce(file, source), document, centre, phase, exception, '"' || message || '"', line, "column", errors) FROM tracker.failure ORDER BY failed`, []string{
			`poll down H zip_name connection_failed "refused" 1`, `document H.2012-10-02.2.impc.zip b.xml H xsd xsd_invalid "early" 3 4 2`,
			`file H.2012-10-02.3.impc.zip H download file_gone "no such file" 1`, "file H.2012-10-02.5.impc.zip H zip_md5 checksum_mismatch 1"}},
		// What has arrived of what failed counts, too.
		"zip_download": {"SELECT concat_ws(' ', exception, downloaded_size_bytes) FROM tracker.zip_download d JOIN tracker.file f ON f.download_id = d.id WHERE d.status_id = 5 AND d.phase_id < 5 ORDER BY 1",
			[]string{"checksum_mismatch 7", "file_gone 0"}},
		"session": {"SELECT concat_ws(' ', number, state, polls, polls_failed, 'files', files, files_failed, 'documents', documents, documents_failed, documents_open, 'batches', batches, batches_open) FROM tracker.session",
			[]string{"7 open 2 1 files 4 2 documents 3 1 1 batches 1 1"}},
		"session_task": {"SELECT phase || ': ' || comment || ' ' || coalesce(status::text, 'open') FROM tracker.session_task ORDER BY phase_id", []string{
			"zip_name: 2 in all, 1 failed, 0 open 1", "download: 4 in all, 1 failed, 0 open 1", "zip_md5: 3 in all, 1 failed, 0 open 1", "unzip: 2 in all, 0 failed, 0 open 0", "xml_name: 3 in all, 0 failed, 0 open 0",
			"xsd: 3 in all, 1 failed, 0 open 1", "upload: 1 in all, 0 failed, 0 open 0", "data: 1 in all, 0 failed, 0 open 0", "context: 1 in all, 0 failed, 0 open 0", "overview: 1 in all, 0 failed, 0 open 0"}},
		"an_exception": {"SELECT short_name || ' ' || to_char(last_update, 'HH24:MI:SS') FROM tracker.an_exception ORDER BY last_update",
			[]string{"connection_failed 10:00:05", "xsd_invalid 10:00:11", "file_gone 10:00:13", "checksum_mismatch 10:00:14"}},
		"an_exception, described": {"SELECT short_name FROM tracker.an_exception WHERE description IS NULL", nil},
	} {
		got, err := column(pool, want.sql)
		if err != nil {
			t.Fatalf("%s: %v", view, err)
		}
		if d := cmp.Diff(want.rows, got); d != "" {
			t.Errorf("%s:\n%s", view, d)
		}
	}
}

// The rows that a program before this one has written say nothing of what an
// exception means, until one that knows starts; and what nobody knows any more is
// left out, as in a rebuild.
func TestExceptionsAreDescribedAfterAnUpgrade(t *testing.T) {
	pool := database(t)
	lost := unzippedFile("H.2012-10-02.3.impc.zip", 1)[0]
	lost.Status, lost.Phase, lost.Exception, lost.Outcome, lost.SHA256 = "failed", "download", "file_gone", "file_gone", ""
	apply(t, newTracker(t, pool), 0, event{time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), lost})
	const described = "SELECT description FROM tracker.an_exception WHERE description <> ''"
	want, err := column(pool, described)
	if err != nil || len(want) != 1 {
		t.Fatalf("described are %q, %v", want, err)
	}
	for _, before := range []string{"NULL", "'what an older program said'"} {
		if _, err := pool.Exec(t.Context(), "UPDATE tracker.an_exception SET description = "+before); err != nil {
			t.Fatal(err)
		}
		if err := trackersql.Describe(t.Context(), pool, exception.Texts()); err != nil {
			t.Fatal(err)
		}
		got, err := column(pool, described)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("after %s (-want +got): %v\n%s", before, err, d)
		}
	}
	if err := trackersql.Describe(t.Context(), pool, map[string]string{"check_of_another_profile": "x"}); err != nil {
		t.Fatal(err)
	}
	if got, err := column(pool, described); err != nil || len(got) != 0 {
		t.Errorf("what is unknown is described: %q, %v", got, err)
	}
}
