//go:build !race

package tracker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

func TestOffsetsMoveWithTheRows(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	var events []event
	for _, e := range unzippedFile("H.2012-10-02.1.impc.zip", 1) {
		events = append(events, event{time.Unix(1, 0), e})
	}
	next := apply(t, tr, 0, events...)
	if at, err := tr.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != next {
		t.Errorf("position %d, %v; want %d", at, err, next)
	}
	before := dump(t, pool)
	r := sink.Range{Topic: schemas.StatusChangedTopic, From: 0, To: 1, Records: []*kgo.Record{record(t, tr,
		event{time.Unix(9, 0), documentAt("H.2012-10-02.1.impc.zip", "a.xml", step{Phase: 6, Status: failed, Exception: "x"})}, 0)}}
	if err := tr.Apply(t.Context(), []sink.Range{r}); !errors.Is(err, pg.ErrMoved) {
		t.Errorf("a batch from where another has been: %v, want that the offset was moved", err)
	}
	if d := cmp.Diff(before, dump(t, pool)); d != "" {
		t.Errorf("the refused batch left rows:\n%s", d)
	}
}

func TestRecordsThatAreNoEvents(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	nameless := record(t, tr, event{time.Unix(1, 0), schemas.StatusChanged{Entity: schemas.EntityFile}}, 1)
	odd := record(t, tr, event{time.Unix(1, 0), schemas.StatusChanged{Entity: "weather"}}, 2)
	r := sink.Range{Topic: schemas.StatusChangedTopic, To: 3, Records: []*kgo.Record{{Value: []byte("{}")}, nameless, odd}}
	if err := tr.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	got, err := column(pool, "SELECT log_offset || ' ' || reason FROM tracker.unreadable ORDER BY log_offset")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0 " + schemas.ErrNotFramed.Error(), `1 an event about a file names the file "" with the action ""`, `2 an event about an unknown entity "weather"`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	newer := sink.Range{Topic: schemas.StatusChangedTopic, From: 3, To: 4, Records: []*kgo.Record{{Offset: 3, Value: []byte{0, 0, 9, 9, 9}}}}
	err = tr.Apply(t.Context(), []sink.Range{newer})
	if named := new(sink.RecordError); !errors.Is(err, schemas.ErrUnknownSchema) || !errors.As(err, &named) || named.Offset != 3 {
		t.Errorf("a record of a newer version: %v, want that its schema is unknown, and which it is", err)
	}
	if at, err := tr.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != 3 {
		t.Errorf("position %d, %v; want 3", at, err)
	}
}

// TestTextsOfAnOlderHistory shows that a writer takes events that an older program
// stored as they came.
func TestTextsOfAnOlderHistory(t *testing.T) {
	pool := database(t)
	e := documentAt("H\x00.zip", "a\x00\xff.xml", step{Phase: 6, Status: failed, Exception: "x\x00"})
	e.Message, e.Errors = "m\x00", []schemas.ErrorDetail{{Line: 1, Message: "\x00\xfe"}}
	far := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	h := schemas.StatusChanged{Scope: schemas.Scope{Source: "s\x00"}, FileRef: e.FileRef, Entity: schemas.EntityHosting, ModTime: &far, Attributes: map[string]string{"state": "present"}}
	err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		unplaced, err := NewWriter(trackersql.Schema).Write(t.Context(), tx, []Event{{e, time.Unix(1, 0)}, {h, time.Unix(1, 0)}})
		if len(unplaced) > 0 {
			t.Errorf("unplaced: %v", unplaced)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := column(pool, "SELECT file_name FROM tracker.zip_file")
	if err != nil || len(got) != 1 || got[0] != "H\uFFFD.zip" {
		t.Errorf("file names %q, %v", got, err)
	}
}

// TestErrorsFollowTheCheckThatCounts shows that errors of an earlier check go
// when a later one finds none.
func TestErrorsFollowTheCheckThatCounts(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	const name = "H.2012-10-02.1.impc.zip"
	finding := documentAt(name, "a.xml", step{Phase: 8, Status: failed, Exception: "specimen_unknown"})
	finding.Check, finding.Errors = 1, []schemas.ErrorDetail{{Line: 3, Exception: "specimen_unknown"}, {Line: 2, Exception: "specimen_unknown"}}
	good := documentAt(name, "a.xml", step{Phase: 8, Status: done})
	good.Check = 2
	next := apply(t, tr, 0, event{time.Unix(1, 0), finding})
	lines, err := column(pool, "SELECT line::text FROM tracker.xml_log ORDER BY ordinal")
	if err != nil || cmp.Diff([]string{"2", "3"}, lines) != "" {
		t.Errorf("errors at lines %q, %v", lines, err)
	}
	apply(t, tr, next, event{time.Unix(2, 0), good})
	if lines, err = column(pool, "SELECT line::text FROM tracker.xml_log"); err != nil || len(lines) != 0 {
		t.Errorf("errors that are gone: %q, %v", lines, err)
	}
}

// TestDeleteRules holds the parent's rules of what goes with what.
func TestDeleteRules(t *testing.T) {
	pool := database(t)
	var events []event
	add := func(e schemas.StatusChanged) { events = append(events, event{time.Unix(int64(len(events)+1), 0), e}) }
	add(schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "s"}, Attributes: map[string]string{"protocol": "sftp", "state": "available"}})
	session := schemas.ID("session", "1")
	add(schemas.StatusChanged{Entity: schemas.EntitySession, Scope: schemas.Scope{Session: session}, Number: 1})
	add(schemas.StatusChanged{Entity: schemas.EntityTask, Scope: schemas.Scope{Session: session, Source: "s"}, Phase: "zip_name", Status: "done"})
	add(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: schemas.Scope{Centre: "H", Session: session}, Number: 1, Status: "running"})
	for _, e := range unzippedFile("H.2012-10-02.1.impc.zip", 1) {
		add(e)
	}
	bad := unzippedFile("H.2012-10-02.1.impc.zip", 1)[0]
	bad.Attempt, bad.Status, bad.Exception, bad.Outcome = 2, "failed", "md5_differs", "md5_differs"
	add(bad)
	add(documentAt("H.2012-10-02.1.impc.zip", "a.xml", step{Phase: 6, Status: failed, Exception: "xsd_invalid"}))
	apply(t, newTracker(t, pool), 0, events...)
	for name, tc := range map[string]struct {
		delete string
		refuse bool
		left   map[string]string // table: count
	}{
		"a centre goes with its sources, not with its files": {"DELETE FROM tracker.centre WHERE short_name = 'H'", false,
			map[string]string{"file_source": "0", "zip_file": "1", "zip_action": "1", "zip_file WHERE centre_id IS NOT NULL": "0"}},
		"a source goes with its hostings and downloads": {"DELETE FROM tracker.file_source", false,
			map[string]string{"file_source_has_zip": "0", "zip_download": "0", "xml_file": "0", "xml_log": "0", "zip_action": "1"}},
		"a zip goes with all it has": {"DELETE FROM tracker.zip_file", false,
			map[string]string{"zip_action": "0", "zip_version": "0", "zip_download": "0", "zip_log": "0", "xml_file": "0", "xml_log": "0"}},
		"a download goes with its documents":          {"DELETE FROM tracker.zip_download", false, map[string]string{"xml_file": "0", "xml_log": "0", "zip_log": "0", "zip_action": "1"}},
		"a document goes with its errors":             {"DELETE FROM tracker.xml_file", false, map[string]string{"xml_log": "0", "zip_download": "2"}},
		"a file goes with its hostings":               {"DELETE FROM tracker.zip_action", false, map[string]string{"file_source_has_zip": "0", "zip_download": "0", "zip_version": "0", "zip_file": "1"}},
		"a hosting goes with its downloads":           {"DELETE FROM tracker.file_source_has_zip", false, map[string]string{"zip_download": "0", "zip_action": "1", "file_source": "1"}},
		"a protocol goes with its sources":            {"DELETE FROM tracker.source_protocol", false, map[string]string{"file_source": "0", "centre": "1"}},
		"a state goes with its sources":               {"DELETE FROM tracker.resource_state", false, map[string]string{"file_source": "0", "centre": "1"}},
		"a session goes with its tasks":               {"DELETE FROM tracker.crawling_session", false, map[string]string{"poll_task": "0", "session_task WHERE phase_id = 1": "0", "file_source": "1"}},
		"a source goes with its polls":                {"DELETE FROM tracker.file_source", false, map[string]string{"poll_task": "0", "crawling_session": "1"}},
		"a centre leaves its batches":                 {"DELETE FROM tracker.centre", false, map[string]string{"batch": "1", "batch WHERE centre_id IS NOT NULL": "0", "xml_file": "0"}},
		"an exception stays while an error has it":    {"DELETE FROM tracker.an_exception WHERE short_name = 'xsd_invalid'", true, nil},
		"an exception stays while a zip's log has it": {"DELETE FROM tracker.an_exception WHERE short_name = 'md5_differs'", true, nil},
		"an exception stays while it is used":         {"DELETE FROM tracker.an_exception", true, nil},
		"a phase stays while it is used":              {"DELETE FROM tracker.phase", true, nil},
		"a status stays while it is used":             {"DELETE FROM tracker.a_status", true, nil},
		"a type stays while it is used":               {"DELETE FROM tracker.processing_type", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // the next finds all there again
			if _, err = tx.Exec(t.Context(), tc.delete); (err != nil) != tc.refuse {
				t.Fatalf("%s: %v", tc.delete, err)
			}
			for table, want := range tc.left {
				var got string
				if err := tx.QueryRow(t.Context(), "SELECT count(*)::text FROM tracker."+table).Scan(&got); err != nil || got != want {
					t.Errorf("%s: %s rows, %v; want %s", table, got, err, want)
				}
			}
		})
	}
}

// TestEverythingIsExplained finds tables, views and columns without a comment.
func TestEverythingIsExplained(t *testing.T) {
	pool := database(t)
	bare, err := column(pool, `SELECT c.relname || coalesce('.' || a.attname, '') FROM pg_class c
		LEFT JOIN LATERAL (SELECT attname, attnum FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
			UNION ALL SELECT NULL, 0) a ON true
		LEFT JOIN pg_description d ON d.objoid = c.oid AND d.objsubid = a.attnum AND d.classoid = 'pg_class'::regclass
		WHERE c.relnamespace = 'tracker'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname <> 'schema_version' AND d.description IS NULL ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	if len(bare) > 0 {
		t.Errorf("no comment on %s", strings.Join(bare, ", "))
	}
}
