package history

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/config"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

func (l *testLog) rebuild(t testing.TB, h *History, o RebuildOptions) Rebuilt {
	t.Helper()
	out, err := l.reader(h).Rebuild(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// equal fails where the history is not the whole log.
func (l *testLog) equal(t testing.TB, h *History) {
	t.Helper()
	if v, differences, rollups := l.verify(t, h); !v.Equal() || !v.Complete() || v.LogRecords != uint64(l.n) {
		t.Errorf("%d records: %+v, %+v, %+v", l.n, v, differences, rollups)
	}
}

// another is a history in the same database, as another process has it.
func another(t testing.TB, h *History) *History {
	t.Helper()
	other := New(h.cfg, h.deps)
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	return other
}

// Rebuilds go on while a sink stores what comes and a reader counts: nobody
// misses what was there before, and in the end all is there once.
func TestRebuildWhileTheSinkGoesOn(t *testing.T) {
	h, conn := fresh(t)
	l := newLog(t, 3)
	l.events(t, 200)
	l.store(t, h)
	exec(t, conn, "ALTER TABLE event UPDATE message = 'by hand' WHERE offset = 3 SETTINGS mutations_sync = 2")
	exec(t, conn, "DELETE FROM event WHERE offset = 7")
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	live := another(t, h)
	running.Go(func() {
		for ctx.Err() == nil {
			if err := l.sink(ctx, live); err != nil && ctx.Err() == nil && !refused(err) {
				t.Errorf("the sink: %v", err)
			}
		}
	})
	least := uint64(190)
	running.Go(func() {
		for ctx.Err() == nil {
			var n uint64
			if err := conn.QueryRow(ctx, "SELECT count() FROM log").Scan(&n); err != nil && ctx.Err() == nil {
				t.Errorf("the reader: %v", err)
			} else if err == nil && n < least {
				t.Errorf("the reader saw %d rows, of at least %d", n, least)
			}
		}
	})
	builder := another(t, h)
	for range 3 {
		l.rebuild(t, builder, RebuildOptions{Batch: 30, beforeExchange: func() { l.events(t, 50) }})
		l.events(t, 20)
	}
	stop()
	running.Wait()
	l.store(t, h)
	l.equal(t, h)
	if n := scan[uint64](t, conn, "SELECT count() FROM system.tables WHERE database = currentDatabase() AND startsWith(name, 'event_')"); n != 0 {
		t.Errorf("%d tables of rebuilds are left", n)
	}
}

// A table that came to its columns in another order gives up its last rows
// with each value in its own column.
func TestRebuildOfATableWithAnotherOrderOfColumns(t *testing.T) {
	h, conn := fresh(t)
	l := newLog(t, 1)
	l.events(t, 20)
	l.store(t, h)
	live := another(t, h)
	exec(t, conn, "ALTER TABLE event MODIFY COLUMN subject String AFTER traceparent")
	if n := scan[string](t, conn, "SELECT arrayStringConcat(groupArray(name), ' ') FROM (SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'event' AND name IN ('subject', 'traceparent') ORDER BY position)"); n != "traceparent subject" {
		t.Fatalf("the columns are in the order %s", n)
	}
	l.rebuild(t, another(t, h), RebuildOptions{beforeExchange: func() {
		l.events(t, 10)
		l.store(t, live)
	}})
	l.equal(t, h)
}

// refused says that the table was exchanged under an insert, or dropped after that.
func refused(err error) bool {
	var x *clickhouse.Exception
	const aborted, violatedConstraint = 236, 469
	return errors.As(err, &x) && (x.Code == violatedConstraint || x.Code == aborted)
}

// A sink that had read where to go on from, and was stopped for longer than a
// whole rebuild, leaves no gap in the new table.
func TestRebuildRefusesWhatComesForTheOldTable(t *testing.T) {
	h, conn := fresh(t)
	l := newLog(t, 1)
	l.events(t, 50)
	l.store(t, h)
	live := another(t, h)
	c, err := live.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at, err := live.positions(t.Context(), c, []sink.Range{{Topic: schemas.StatusChangedTopic}})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "DELETE FROM event WHERE offset >= 40") // so that the new table ends before the old one did
	l.rebuild(t, another(t, h), RebuildOptions{})
	exec(t, conn, "DELETE FROM event WHERE offset >= 45")
	late := span(t, l.codec, at[partition{schemas.StatusChangedTopic, 0}], 60)
	if err := live.insert(t.Context(), c, []sink.Range{late}); !refused(err) {
		t.Fatalf("a row for the old table: %v, want that it is refused", err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM log WHERE offset >= 50"); n != 0 {
		t.Errorf("%d rows behind a gap", n)
	}
}

// A topic that was made anew is taken over, with its id, if that is wanted.
func TestRebuildFromATopicMadeAnew(t *testing.T) {
	h, _ := fresh(t)
	l := newLog(t, 1)
	l.events(t, 60)
	_, id, err := logIntervals(t.Context(), l.client, l.topic)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.TopicID(t.Context(), schemas.StatusChangedTopic, id); err != nil {
		t.Fatal(err)
	}
	l.store(t, h)
	if _, err := kadm.NewClient(l.client).DeleteTopic(t.Context(), l.topic); err != nil {
		t.Fatal(err)
	}
	l.create(t, 1)
	if l.client, err = l.connect(); err != nil { // the old one knows the old topic
		t.Fatal(err)
	}
	t.Cleanup(l.client.Close)
	l.n = 0
	l.events(t, 25)
	_, second, err := logIntervals(t.Context(), l.client, l.topic)
	if err != nil || second == id {
		t.Fatalf("the new topic has the id %x, %v", second, err)
	}
	if v, differences, _ := l.verify(t, h); v.Equal() || differences[0].Kind != NewTopic {
		t.Errorf("another topic: %+v, %+v", v, differences)
	}
	if _, err := l.reader(h).Rebuild(t.Context(), RebuildOptions{}); !errors.Is(err, ErrWouldLose) {
		t.Errorf("got %v, want that rows would be lost", err)
	}
	l.rebuild(t, h, RebuildOptions{Force: true})
	if stored, err := h.TopicID(t.Context(), schemas.StatusChangedTopic, second); err != nil || stored != second {
		t.Errorf("the id %x is stored, %v; want %x", stored, err, second)
	}
	h = another(t, h)
	l.equal(t, h)
	l.events(t, 10)
	l.store(t, h)
	l.equal(t, h)
}

// What the log has no more is not given up silently.
func TestRebuildKeepsWhatOnlyTheHistoryHas(t *testing.T) {
	h, conn := fresh(t)
	l := newLog(t, 1)
	l.events(t, 50)
	l.store(t, h)
	if _, err := kadm.NewClient(l.client).DeleteRecords(t.Context(), kadm.Offsets{l.topic: {0: {Topic: l.topic, Partition: 0, At: 20}}}); err != nil {
		t.Fatal(err)
	}
	if v, _, rollups := l.verify(t, h); !v.Equal() || v.Complete() || v.Older != 20 || v.LogRecords != 30 || rollups[0].Skipped == "" {
		t.Errorf("a log that begins later: %+v, %+v", v, rollups)
	}
	if _, err := l.reader(h).Rebuild(t.Context(), RebuildOptions{}); !errors.Is(err, ErrWouldLose) {
		t.Errorf("got %v, want that rows would be lost", err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != 50 {
		t.Errorf("%d rows, want 50", n)
	}
	if out := l.rebuild(t, h, RebuildOptions{Force: true}); out.Rows != 30 {
		t.Errorf("%+v", out)
	}
}

// A rebuild that ends in the middle changes nothing, and the next one drops
// what it has left. So does one whose database is gone.
func TestRebuildAfterAKill(t *testing.T) {
	h, conn := fresh(t)
	l := newLog(t, 2)
	l.events(t, 100)
	l.store(t, h)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	if _, err := l.reader(another(t, h)).Rebuild(ctx, RebuildOptions{Batch: 10, beforeExchange: kill}); err == nil {
		t.Fatal("a rebuild that was killed succeeded")
	}
	l.equal(t, h)
	if n := scan[uint64](t, conn, "SELECT count() FROM system.tables WHERE database = currentDatabase() AND startsWith(name, 'event_rebuild_')"); n != 1 {
		t.Fatalf("%d tables are left, want one", n)
	}
	if out := l.rebuild(t, h, RebuildOptions{}); len(out.Dropped) != 1 || !strings.HasPrefix(out.Dropped[0], builtPrefix) || out.Rows != 100 {
		t.Errorf("%+v", out)
	}
	l.equal(t, h)
	exec(t, conn, "DROP DATABASE "+h.deps.Database)
	h = another(t, h)
	l.rebuild(t, h, RebuildOptions{})
	l.equal(t, h)
	l.events(t, 10)
	l.store(t, another(t, h))
	l.equal(t, h)
}

// With a retention rows may go; that is no difference, and the sink does not
// begin again for it.
func TestRetention(t *testing.T) {
	h, conn := fresh(t)
	h.cfg.Retention = config.Duration(time.Hour) // the events are older
	l := newLog(t, 1)
	l.events(t, 40)
	l.store(t, h)
	exec(t, conn, "OPTIMIZE TABLE event FINAL")
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if at, err := another(t, h).Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != 40 {
		t.Errorf("position %d, %v; want 40", at, err)
	}
	v, differences, _ := l.verify(t, h)
	if !v.Equal() || v.Complete() || v.RollupsSkipped == 0 || v.Expired != 40 || v.Behind != 0 {
		t.Errorf("%+v, %+v", v, differences)
	}
	l.rebuild(t, h, RebuildOptions{})
	exec(t, conn, "OPTIMIZE TABLE event FINAL")
	if at, err := another(t, h).Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != 40 {
		t.Errorf("position %d after the rebuild, %v; want 40", at, err)
	}
	forever := another(t, h)
	forever.cfg.Retention = 0
	l.store(t, forever) // it has nothing yet: all is read again, and kept
	exec(t, conn, "OPTIMIZE TABLE event FINAL")
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != 40 {
		t.Errorf("%d rows, want all again", n)
	}
}
