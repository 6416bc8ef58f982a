package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
	"tributary/test/wait"
)

// database is a new database with an outbox in the schema s.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for _, ddl := range []string{"CREATE SCHEMA s", fmt.Sprintf(outbox.DDL, "s")} {
		if _, err := pool.Exec(t.Context(), ddl); err != nil {
			t.Fatalf("%s: %v", ddl, err)
		}
	}
	return pool
}

func TestOutboxKeepsWhatCommits(t *testing.T) {
	pool := database(t)
	codec := schemastest.Codec(t)
	o := outbox.Outbox{Schema: "s", Codec: codec}
	listener, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		raw := listener.Hijack()
		_ = raw.Close(context.Background())
	})
	if _, err := listener.Exec(t.Context(), "LISTEN s_outbox"); err != nil {
		t.Fatal(err)
	}
	message := func(n int) schemas.Message {
		return schemas.Message{ID: fmt.Sprint("id-", n), Topic: schemas.StatusChangedTopic, Key: fmt.Sprint("key-", n), Stage: "test", Time: time.Unix(0, 0),
			Body: &schemas.StatusChanged{Entity: schemas.EntityFile, Number: int64(n), Message: "naïve"}}
	}
	boom := errors.New("boom")
	err = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if err := o.Append(t.Context(), tx, message(1)); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	err = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return o.Append(t.Context(), tx, message(2), message(3), message(4)) })
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	if _, err := listener.Conn().WaitForNotification(waiting); err != nil {
		t.Errorf("the publisher is not woken: %v", err)
	}
	var got []int64
	for _, m := range outboxtest.Events(t, pool, "s", codec) {
		b := m.Body.(*schemas.StatusChanged)
		got = append(got, b.Number)
		if m.ID != fmt.Sprint("id-", b.Number) || m.Key != fmt.Sprint("key-", b.Number) || m.Topic != schemas.StatusChangedTopic || b.Message != "naïve" {
			t.Errorf("event %d came out as %+v", b.Number, m)
		}
	}
	if fmt.Sprint(got) != "[2 3 4]" {
		t.Errorf("the outbox holds %v", got)
	}
}

// A row holds a part of what a large transaction says, and a reader who asks
// for some events gets whole rows, the oldest, and no more than it must.
func TestOutboxRowsAreBounded(t *testing.T) {
	pool := database(t)
	big := bytes.Repeat([]byte("x"), 600<<10)
	var all []schemas.Record
	for i := range 1201 {
		all = append(all, schemas.Record{Topic: "t", Key: fmt.Sprint(i), Value: []byte{}})
	}
	for i := range 3 { // two of these are more than a row's bytes
		all = append(all, schemas.Record{Topic: "t", Key: fmt.Sprint("big", i), Value: big})
	}
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return outbox.Append(t.Context(), tx, "s", all) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ask, rows, events int }{{1, 1, 500}, {500, 1, 500}, {501, 2, 1000}, {1001, 3, 1202}, {1203, 4, 1203}, {5000, 5, 1204}} {
		ids, records := readOutbox(t, pool, 0, c.ask)
		if len(ids) != c.rows || len(records) != c.events {
			t.Errorf("asked for %d events: %d rows with %d events, want %d with %d", c.ask, len(ids), len(records), c.rows, c.events)
		}
		if d := cmp.Diff(all[:min(len(records), len(all))], records); d != "" {
			t.Errorf("asked for %d events: %s", c.ask, d)
		}
	}
	ids, _ := readOutbox(t, pool, 0, 501)
	if _, behind := readOutbox(t, pool, ids[1], 1); behind[0].Key != "1000" {
		t.Errorf("behind the second row comes %s", behind[0].Key)
	}
	rows, err := outbox.Read(t.Context(), pool, "s", 0, 501)
	if err != nil {
		t.Fatal(err)
	}
	if err := outbox.Delete(t.Context(), pool, "s", rows); err != nil {
		t.Fatal(err)
	}
	if _, records := readOutbox(t, pool, 0, 1); len(records) == 0 || records[0].Key != "1000" {
		t.Errorf("what is left begins with %v", records[:min(len(records), 1)])
	}
}

// What is known of the rows of an outbox, say that they are published, does not
// touch those of the outbox that took its place, whose ids begin anew.
func TestAnOutboxMadeAnewKeepsItsRows(t *testing.T) {
	pool := database(t)
	put := func(key string) []outbox.Row {
		t.Helper()
		if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			return outbox.Append(t.Context(), tx, "s", []schemas.Record{{Topic: "t", Key: key, Value: []byte{}}})
		}); err != nil {
			t.Fatal(err)
		}
		rows, err := outbox.Read(t.Context(), pool, "s", 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	old := put("old")
	if _, err := pool.Exec(t.Context(), "TRUNCATE s.outbox RESTART IDENTITY"); err != nil {
		t.Fatal(err)
	}
	if anew := put("new"); anew[0].ID != old[0].ID {
		t.Fatalf("the ids are %d and %d: nothing is tested", old[0].ID, anew[0].ID)
	}
	if err := outbox.Rewrite(t.Context(), pool, "s", old[0], old[0].Records); err != nil {
		t.Fatal(err)
	}
	if err := outbox.Delete(t.Context(), pool, "s", old); err != nil {
		t.Fatal(err)
	}
	if _, records := readOutbox(t, pool, 0, 1); len(records) != 1 || records[0].Key != "new" {
		t.Errorf("the outbox holds %v, and what was appended to it is lost", records)
	}
}

// readOutbox returns the ids of rows and the events in them.
func readOutbox(t *testing.T, pool *pgxpool.Pool, after int64, events int) (ids []int64, records []schemas.Record) {
	t.Helper()
	rows, err := outbox.Read(t.Context(), pool, "s", after, events)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Damaged != nil {
			t.Fatal(r.Damaged)
		}
		ids, records = append(ids, r.ID), append(records, r.Records...)
	}
	return ids, records
}

// What nothing waits for wakes nobody, and goes in its turn with what does.
func TestUnhurriedEventsWakeNobody(t *testing.T) {
	pool := database(t)
	o := outbox.Outbox{Schema: "s", Codec: schemastest.Codec(t)}
	listener, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Hijack().Close(context.Background()) })
	if _, err := listener.Exec(t.Context(), "LISTEN s_outbox"); err != nil {
		t.Fatal(err)
	}
	add := func(number int64, how func(context.Context, pgx.Tx, ...schemas.Message) error) {
		t.Helper()
		err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			return how(t.Context(), tx, schemas.Message{ID: fmt.Sprint(number), Topic: schemas.StatusChangedTopic, Key: "key", Stage: "test", Time: time.Unix(0, 0),
				Body: &schemas.StatusChanged{Entity: schemas.EntityFile, Number: number}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add(1, o.AppendUnhurried)
	// Notifications come in the order of their commits: the first to come is the test's own.
	if _, err := pool.Exec(t.Context(), "SELECT pg_notify('s_outbox', 'own')"); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	if n, err := listener.Conn().WaitForNotification(waiting); err != nil || n.Payload != "own" {
		t.Errorf("after what nothing waits for comes %+v: %v", n, err)
	}
	add(2, o.Append)
	if n, err := listener.Conn().WaitForNotification(waiting); err != nil || n.Payload != "" {
		t.Errorf("what is waited for wakes by %+v: %v", n, err)
	}
	var got []int64
	for _, m := range outboxtest.Events(t, pool, "s", o.Codec) {
		got = append(got, m.Body.(*schemas.StatusChanged).Number)
	}
	if fmt.Sprint(got) != "[1 2]" {
		t.Errorf("the outbox holds %v", got)
	}
}
