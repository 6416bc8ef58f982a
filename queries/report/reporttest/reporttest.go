// Package reporttest holds a tracker for tests of what is asked of it: a small story
// that it has read.
package reporttest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/history"
	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	trackersql "tributary/sql/tracker"
	"tributary/sql/warehouse"
)

// Names of files in the story.
const GoodZip, BadZip, BrokenZip = "H.2012-10-02.01.impc.zip", "H2012.zip", "H.2012-10-03.01.impc.zip"

// Start is when the story begins.
func Start() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// Filled is a tracker that holds a small story: a good file of two documents of
// which one fails, on two sources; a file with a bad name; one that no source
// delivers; and one that waits.
func Filled(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return Told(t, Story())
}

// Told is a tracker that has read some events. Beside it there is an empty warehouse.
func Told(t *testing.T, events []schemas.StatusChanged) *pgxpool.Pool {
	t.Helper()
	filled := enginetest.Filled(t, "tracker and warehouse", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(trackersql.Migrate(ctx, pool), warehouse.Migrate(ctx, pool))
	})
	pool, err := pg.Open(t.Context(), filled, "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	tell(t, pool, 0, events, unreadable(events))
	return pool
}

// Add lets a tracker of Told read on.
func Add(t *testing.T, pool *pgxpool.Pool, events ...schemas.StatusChanged) {
	t.Helper()
	from, err := tracker.New(config.Tracker{}, tracker.Deps{Pool: pool, Prefix: "test"}).Position(t.Context(), schemas.StatusChangedTopic, 0)
	if err != nil {
		t.Fatal(err)
	}
	tell(t, pool, from, events)
}

// tell has a tracker read events from an offset on, and then other records.
func tell(t *testing.T, pool *pgxpool.Pool, from int64, events []schemas.StatusChanged, others ...*kgo.Record) {
	t.Helper()
	codec, r := logged(t, from, events, others...)
	if err := tracker.New(config.Tracker{}, tracker.Deps{Pool: pool, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)}).Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
}

// History is a history that has read the story. Tests only read it.
func History(t *testing.T) driver.Conn {
	t.Helper()
	return HistoryOf(t, Story())
}

// HistoryOf is a history that has read what a tracker of Told has. Those who ask for the
// same events share it: they only read it.
func HistoryOf(t *testing.T, events []schemas.StatusChanged) driver.Conn {
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }
	text, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	database := enginetest.Read(t, endpoint, string(text), func(database string) error {
		codec, r := logged(t, 0, events, unreadable(events))
		h := history.New(config.History{}, history.Deps{Open: open, Database: database, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)})
		return errors.Join(h.Apply(t.Context(), []sink.Range{r}), h.Close())
	})
	conn, err := open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// unreadable is a record behind events that is none.
func unreadable(events []schemas.StatusChanged) *kgo.Record {
	return &kgo.Record{Offset: int64(len(events)), Value: []byte("?")}
}

// logged is the log with some events from an offset on, and then other records.
func logged(t *testing.T, from int64, events []schemas.StatusChanged, others ...*kgo.Record) (*schemas.Codec, sink.Range) {
	t.Helper()
	codec := schemastest.Codec(t)
	r := sink.Range{Topic: schemas.StatusChangedTopic, From: from}
	for i, e := range events {
		n := from + int64(i)
		encoded, err := codec.Encode(schemas.Message{ID: schemas.ID("e", string(rune(n))), Topic: schemas.StatusChangedTopic, Stage: "test",
			Time: Start().Add(time.Duration(n) * time.Second), Body: &e})
		if err != nil {
			t.Fatal(err)
		}
		rec := kafka.ToKgo("test", encoded)
		rec.Offset = n
		r.Records = append(r.Records, rec)
	}
	r.Records = append(r.Records, others...)
	r.To = from + int64(len(r.Records))
	return codec, r
}

// Story is what Filled has read.
func Story() []schemas.StatusChanged {
	at := func(s int) *time.Time { t := Start().Add(time.Duration(s) * time.Second); return &t }
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
		return schemas.StatusChanged{Scope: s, FileRef: ref(name), Entity: schemas.EntityHosting, Look: 1, FileSize: 120, ListedAt: at(1), Attributes: map[string]string{"state": state, "listed.title": "Mice of " + source}}
	}
	get := func(name string, attempt int32, phase, status, outcome string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref(name), Entity: schemas.EntityDownload, Attempt: attempt, Phase: phase, Status: status, Outcome: outcome}
	}
	bad := named(BadZip)
	bad.Centre, bad.Source, bad.Status, bad.Exception, bad.FileDate = "", "", "failed", "name_pattern", ""
	requested := get(GoodZip, 1, "download", "pending", "")
	requested.RequestedAt = at(5)
	truncated := get(GoodZip, 1, "download", "failed", "truncated")
	truncated.Exception, truncated.Message, truncated.Bytes = "truncated", "40 of 120 bytes", 40
	truncated.Attributes = schemas.Transfer{Request: "GET https://h/out/add/" + GoodZip + "; Authorization: (not kept)", Response: "HTTP/1.1 200 OK; Content-Length: 120"}.Attributes()
	accepted1 := get(GoodZip, 1, "", "", "")
	accepted1.Accepted = "truncated"
	fetched := get(GoodZip, 2, "zip_md5", "done", "aa11")
	fetched.SHA256, fetched.MD5, fetched.Bytes, fetched.FinishedAt, fetched.Note = "aa11", "bb", 120, at(9), "no_checksum"
	fetched.Attributes = schemas.Transfer{From: 40, Received: 80, Request: "GET https://h/out/add/" + GoodZip + "; Range: bytes=40-", Response: "HTTP/1.1 206 Partial Content; Content-Range: bytes 40-119/120"}.Attributes()
	unzipped := get(GoodZip, 2, "unzip", "done", "aa11/done")
	unzipped.Rows, unzipped.FinishedAt = 2, at(10)
	accepted2 := get(GoodZip, 2, "", "", "")
	accepted2.Accepted = "aa11/done"
	doc := func(entry, phase, status string) schemas.StatusChanged {
		e := get(GoodZip, 2, phase, status, "aa11/done")
		e.Entity, e.Entry, e.Document, e.DocCentre = schemas.EntityDocument, entry, schemas.DocumentID(ref(GoodZip).File, entry), "H"
		return e
	}
	invalid := doc("H.2012-10-02.1.experiment.impc.xml", "xsd", "failed")
	invalid.Exception, invalid.ErrorsTotal = "xsd_invalid", 2
	invalid.Errors = []schemas.ErrorDetail{{Line: 9, Column: 2, Exception: "xsd_enumeration", Message: "not\none of them"}, {Line: 3, Column: 7, Exception: "xsd_missing", Message: "no id"}}
	lost := get(BrokenZip, 1, "unzip", "failed", "cc/bad_crc")
	lost.Exception = "bad_crc"
	final := get(BrokenZip, 1, "unzip", "failed", "")
	final.Exception, final.Message, final.Accepted = "corrupted_at_producer", "bad CRC on both hostings", "cc/bad_crc"
	waits := named("H.2012-10-09.01.impc.zip")
	opened := schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope, Number: 1, StartedAt: at(0)}
	polled := schemas.StatusChanged{Entity: schemas.EntityTask, Scope: scope, Phase: "zip_name", Status: "done", FinishedAt: at(3), Attributes: map[string]string{"listed": "4"}}
	centre := schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Attributes: map[string]string{"full_name": "MRC Harwell", "active": "true"}}
	source := schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"},
		Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available", "base_path": "/out", "accesskey": "file:key"}}
	return []schemas.StatusChanged{
		centre, source, opened, polled, named(GoodZip), hosted(GoodZip, "harwell", "present"), hosted(GoodZip, "ics", "gone"), bad,
		requested, truncated, accepted1, get(GoodZip, 2, "download", "pending", ""), fetched, accepted2,
		doc("H.2012-10-02.1.specimen.impc.xml", "overview", "done"), invalid, unzipped,
		named(BrokenZip), lost, final, waits, hosted("H.2012-10-09.01.impc.zip", "harwell", "present"),
	}
}
