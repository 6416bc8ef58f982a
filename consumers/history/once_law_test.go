//go:build !race

package history

import (
	"errors"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// onceEach fails where a record of partition 0 is not there once.
func onceEach(t *testing.T, conn driver.Conn, want uint64) {
	t.Helper()
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != want {
		t.Errorf("%d rows for %d records", n, want)
	}
	if n := scan[uint64](t, conn, "SELECT uniqExact(offset) FROM log"); n != want {
		t.Errorf("%d offsets, want %d", n, want)
	}
}

// A sink that is killed between its insert and whatever follows it, or stopped
// for so long that ClickHouse has forgotten the insert's token, goes on from the
// rows; and an insert that comes again all the same is shown once.
func TestOnceBeyondTheDeduplicationWindow(t *testing.T) {
	h, conn := fresh(t)
	c, err := h.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "ALTER TABLE event MODIFY SETTING non_replicated_deduplication_window = 2")
	first := span(t, h.deps.Codec, 0, 10)
	if err := h.insert(t.Context(), c, []sink.Range{first}); err != nil {
		t.Fatal(err) // killed here: nothing says so but the rows
	}
	other := another(t, h)
	if at, err := other.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != 10 {
		t.Fatalf("position %d, %v; want 10", at, err)
	}
	for n := int64(10); n < 60; n += 10 {
		if err := other.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, n, n+10)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Apply(t.Context(), []sink.Range{first}); err != nil { // it wakes up: all is there
		t.Fatal(err)
	}
	onceEach(t, conn, 60)
	// On its way already, it is repeated: no token tells any more.
	if err := h.insert(t.Context(), c, []sink.Range{first}); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT sum(rows) FROM system.parts WHERE database = currentDatabase() AND table = 'event' AND active"); n != 70 && n != 60 {
		t.Errorf("%d rows in parts", n)
	}
	onceEach(t, conn, 60)
	if n := scan[uint64](t, conn, "SELECT sum(events) FROM throughput_day"); n != scan[uint64](t, conn, "SELECT count() FROM once") {
		t.Errorf("%d events in the rollup", n)
	}
}

// With too many parts ClickHouse refuses an insert; the batch comes again, with
// growing pauses as after any error, and then all of it is there once.
func TestTooManyPartsAreWaitedFor(t *testing.T) {
	h, conn := fresh(t)
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 0, 10)}); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "SYSTEM STOP MERGES event")
	exec(t, conn, "ALTER TABLE event MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1")
	next := []sink.Range{span(t, h.deps.Codec, 10, 20)}
	for range 2 {
		err := h.Apply(t.Context(), next)
		var x *clickhouse.Exception
		const tooManyParts = 252
		if !errors.As(err, &x) || x.Code != tooManyParts {
			t.Fatalf("got %v, want that there are too many parts", err)
		}
	}
	onceEach(t, conn, 10)
	exec(t, conn, "ALTER TABLE event RESET SETTING parts_to_delay_insert, parts_to_throw_insert")
	exec(t, conn, "SYSTEM START MERGES event")
	if err := h.Apply(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	onceEach(t, conn, 20)
}

// A column may come while sinks of the version before it go on: what they
// insert has its default.
func TestAColumnComesWhileAnOlderSinkGoesOn(t *testing.T) {
	h, conn := fresh(t)
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 0, 10)}); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "ALTER TABLE event ADD COLUMN IF NOT EXISTS newer String DEFAULT 'd'")
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 10, 20)}); err != nil {
		t.Fatal(err)
	}
	onceEach(t, conn, 20)
	if n := scan[uint64](t, conn, "SELECT count() FROM event WHERE newer = 'd'"); n != 20 {
		t.Errorf("%d rows have the new column's default, want 20", n)
	}
	// A sink from before generations leaves that column out, too.
	exec(t, conn, "INSERT INTO event (topic, partition, offset, event_id, time) VALUES ('status.changed', 0, 20, generateUUIDv4(), now64(6))")
	onceEach(t, conn, 21)
}
