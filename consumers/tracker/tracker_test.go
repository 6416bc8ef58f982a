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
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return New(config.Tracker{}, Deps{Pool: pool, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler), Meanings: exception.Texts()})
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
