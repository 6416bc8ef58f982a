package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
	trackersql "tributary/sql/tracker"
	"tributary/sql/warehouse"
)

// still is a history that has read up to an offset.
type still struct {
	sink.Store

	at int64
}

func (s *still) Position(context.Context, string, int32) (int64, error) { return s.at, nil }

// A round with --once is over only when all positions are applied, batch ends
// included, the warehouse's outbox is empty, every
// stage has committed what its topic holds, and tracker and history have read
// the log to its end: whoever looks at the result then sees all of it.
func TestARoundWaitsForEveryReader(t *testing.T) {
	ctx := t.Context()
	log := slog.New(slog.DiscardHandler)
	pool, err := pg.Open(ctx, enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for _, migrate := range []func() error{func() error { return control.Migrate(ctx, pool) }, func() error { return warehouse.Migrate(ctx, pool) }, func() error { return trackersql.Migrate(ctx, pool) }} {
		if err := migrate(); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default()
	client, err := kafka.NewFactory(cfg.Kafka, enginetest.Broker(t), log)()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	prefix, admin := cfg.Kafka.TopicPrefix, kadm.NewClient(client)
	for _, topic := range []string{schemas.DownloadRequestedTopic, schemas.DownloadFinishedTopic, schemas.DocumentExtractedTopic, schemas.StatusChangedTopic} {
		if _, err := admin.CreateTopic(ctx, 1, 1, nil, kafka.TopicName(prefix, topic)); err != nil {
			t.Fatal(err)
		}
	}
	r := &round{a: &app{cfg: cfg, log: log, stores: &stores{Control: pool, Tracker: pool, Warehouse: pool}}}
	h := &still{}
	over := func(want bool, when string) {
		t.Helper()
		got, err := r.caughtUp(ctx, client, h)
		if err != nil || got != want {
			t.Errorf("%s: over %v (%v), want %v", when, got, err, want)
		}
	}
	produce := func(topic string) {
		t.Helper()
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: kafka.TopicName(prefix, topic), Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	over(true, "with nothing to do")
	exec := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE control.position SET next = 4")
	exec("UPDATE warehouse.state SET next_position = 3")
	over(false, "with a position that is not applied")
	exec("UPDATE warehouse.state SET next_position = 4")
	exec("INSERT INTO warehouse.batch_end (position, centre, event, trace, ordered) VALUES (3, 'H', 'e', '', '{}')")
	over(false, "with a batch end that is put off")
	exec("DELETE FROM warehouse.batch_end")
	over(true, "with all positions applied")

	codec := schemastest.Codec(t)
	outbox := outbox.Outbox{Schema: warehouse.Schema, Codec: codec}
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		return outbox.Append(ctx, tx, schemas.Message{ID: schemas.LiveRun, Topic: schemas.StatusChangedTopic, Key: "k", Stage: "test", Time: time.Unix(1, 0),
			Body: &schemas.StatusChanged{Entity: schemas.EntityFile}})
	})
	if err != nil {
		t.Fatal(err)
	}
	over(false, "with an event in the warehouse's outbox")
	exec("DELETE FROM warehouse.outbox")

	for group, topic := range map[string]string{"download": schemas.DownloadRequestedTopic, "unzip": schemas.DownloadFinishedTopic, "validate": schemas.DocumentExtractedTopic} {
		produce(topic)
		over(false, "with a record that "+group+" has not read")
		offsets := kadm.Offsets{}
		offsets.AddOffset(kafka.TopicName(prefix, topic), 0, 1, -1)
		if err := admin.CommitAllOffsets(ctx, kafka.GroupName(prefix, group), offsets); err != nil {
			t.Fatal(err)
		}
		over(true, "when "+group+" has committed it")
	}

	produce(schemas.StatusChangedTopic)
	h.at = 1
	over(false, "with an event that the tracker has not read")
	stored := pg.Offsets{Schema: "tracker", Group: kafka.GroupName(prefix, tracker.Name)}
	if err := stored.Advance(ctx, pool, schemas.StatusChangedTopic, 0, 0, 1); err != nil {
		t.Fatal(err)
	}
	h.at = 0
	over(false, "with an event that the history has not read")
	h.at = 1
	over(true, "when both have read the log to its end")

	// Nobody waits for what was cut off, nor is it taken for read.
	h.at = 2
	if over, err := r.caughtUp(ctx, client, h); err == nil || over || !strings.Contains(err.Error(), "the history has read partition 0 of "+kafka.TopicName(prefix, schemas.StatusChangedTopic)+" up to offset 2, but the log ends at 1") {
		t.Errorf("with a history that has read beyond the log's end: over %v, %v", over, err)
	}
	h.at = 1
	if err := stored.Advance(ctx, pool, schemas.StatusChangedTopic, 0, 1, 2); err != nil {
		t.Fatal(err)
	}
	if over, err := r.caughtUp(ctx, client, h); err == nil || over || !strings.Contains(err.Error(), "the tracker has read partition 0") {
		t.Errorf("with a tracker that has read beyond the log's end: over %v, %v", over, err)
	}
}
