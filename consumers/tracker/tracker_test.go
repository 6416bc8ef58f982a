package tracker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/schemas/exception"
	"tributary/schemas/schemastest"
	trackersql "tributary/sql/tracker"
)

// database is a fresh tracker schema.
func database(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "tracker", trackersql.Migrate), "test", 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// reset empties every table that the tracker writes.
func reset(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	all := append(tableNames(), "consumed", "unreadable", "an_exception", "tally")
	if _, err := pool.Exec(context.Background(), "TRUNCATE tracker."+strings.Join(all, ", tracker.")); err != nil {
		t.Fatal(err)
	}
}

func newTracker(t testing.TB, pool *pgxpool.Pool) *Tracker {
	t.Helper()
	return New(config.Tracker{}, Deps{Pool: pool, Codec: schemastest.Codec(t), Prefix: "test", Log: slog.New(slog.DiscardHandler), Meanings: exception.Texts()})
}

// event is one event of the log, before encoding.
type event struct {
	at time.Time
	schemas.StatusChanged
}

func record(t testing.TB, tr *Tracker, e event, offset int64) *kgo.Record {
	t.Helper()
	r, err := tr.deps.Codec.Encode(schemas.Message{ID: schemas.ID("e", fmt.Sprint(offset)), Topic: schemas.StatusChangedTopic, Key: e.File, Stage: "test", Time: e.at, Body: &e.StatusChanged})
	if err != nil {
		t.Fatal(err)
	}
	out := kafka.ToKgo("test", r)
	out.Offset = offset
	return out
}

// apply applies events as the next batch of partition 0.
func apply(t testing.TB, tr *Tracker, from int64, events ...event) int64 {
	t.Helper()
	to := from + int64(len(events))
	r := sink.Range{Topic: schemas.StatusChangedTopic, From: from, To: to}
	for i, e := range events {
		r.Records = append(r.Records, record(t, tr, e, from+int64(i)))
	}
	if err := tr.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	return to
}

// dump is every row of every table and view, as sorted text.
func dump(t testing.TB, pool *pgxpool.Pool) map[string][]string {
	t.Helper()
	names, err := column(pool, `SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'tracker'::regnamespace AND c.relkind IN ('r', 'v')
		AND c.relname NOT IN ('consumed', 'consumed_topic', 'schema_version', 'tally') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, name := range names {
		if out[name], err = column(pool, "SELECT x::text FROM tracker."+name+" x ORDER BY 1"); err != nil {
			t.Fatal(name, err)
		}
	}
	return out
}

func column(pool *pgxpool.Pool, sql string) ([]string, error) {
	rows, err := pool.Query(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func unzippedFile(name string, documents int64) []schemas.StatusChanged {
	base := schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "s"}, Entity: schemas.EntityDownload, Attempt: 1,
		FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}}
	got, unzipped := base, base
	got.Phase, got.Status, got.Outcome, got.SHA256 = "zip_md5", "done", "sha", "sha"
	unzipped.Phase, unzipped.Status, unzipped.Outcome, unzipped.Accepted, unzipped.Rows = "unzip", "done", "sha/done", "sha/done", documents
	return []schemas.StatusChanged{got, unzipped}
}

func documentAt(name, entry string, s step) schemas.StatusChanged {
	return schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, Entity: schemas.EntityDocument, Attempt: 1, Outcome: "sha/done",
		FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}, DocumentRef: schemas.DocumentRef{Entry: entry},
		Phase: string(schemas.Phases()[s.Phase-1]), Status: string(schemas.Statuses()[s.Status-1]), Exception: s.Exception}
}
