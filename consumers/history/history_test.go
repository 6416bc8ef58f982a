package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/schemas/schemastest"
)

func codec(t testing.TB) *schemas.Codec {
	t.Helper()
	return schemastest.Codec(t)
}

// fresh is a history in a database of its own, and a connection to that.
func fresh(t testing.TB) (*History, driver.Conn) {
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	database := enginetest.Database(t, endpoint)
	h := New(config.History{}, Deps{Open: func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }, Database: database, Codec: codec(t), Log: slog.New(slog.DiscardHandler)})
	conn, err := engine.OpenClickHouse(endpoint, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), conn.Close()); err != nil {
			t.Error(err)
		}
	})
	return h, conn
}

// record is the n-th record of partition 0: every third event is told twice.
func record(t testing.TB, c *schemas.Codec, n int64) *kgo.Record {
	t.Helper()
	at := time.Date(2026, 11, 21, 10, int(n%3), 0, 123456000, time.UTC)
	if n%10 == 7 {
		return &kgo.Record{Offset: n, Value: []byte("no event")}
	}
	e := &schemas.StatusChanged{
		Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "s"}, FileRef: schemas.FileRef{File: schemas.FileID("add", "a.zip"), FileName: "a.zip", Action: "add"},
		Entity: schemas.EntityDownload, Phase: "download", Status: "failed", Exception: "truncated", Attempt: int32(n), StartedAt: &at, FinishedAt: &at,
		Attributes: map[string]string{"k": "v"}, Errors: []schemas.ErrorDetail{{Line: 3, Message: "it's \"bad\""}},
	}
	r, err := c.Encode(schemas.Message{ID: schemas.ID("e", fmt.Sprint(n/3)), Topic: schemas.StatusChangedTopic, Stage: "download", Subject: "add/a.zip", Time: at, Body: e})
	if err != nil {
		t.Fatal(err)
	}
	out := kafka.ToKgo("test", r)
	out.Offset = n
	return out
}

func span(t testing.TB, c *schemas.Codec, from, to int64) sink.Range {
	r := sink.Range{Topic: schemas.StatusChangedTopic, From: from, To: to}
	for n := from; n < to; n++ {
		r.Records = append(r.Records, record(t, c, n))
	}
	return r
}

func scan[T any](t testing.TB, conn driver.Conn, sql string) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// TestEachRecordOnce applies ranges as a sink does that dies and comes again:
// twice, overlapping, in part.
func TestEachRecordOnce(t *testing.T) {
	h, conn := fresh(t)
	for _, r := range [][2]int64{{0, 10}, {0, 10}, {5, 20}, {20, 30}, {0, 30}, {29, 40}} {
		if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, r[0], r[1])}); err != nil {
			t.Fatalf("%v: %v", r, err)
		}
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event"); n != 40 {
		t.Errorf("%d rows for 40 records", n)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != 40 {
		t.Errorf("%d rows in the view of 40 records", n)
	}
	if at, err := h.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != 40 {
		t.Errorf("position %d, %v; want 40", at, err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event WHERE unreadable != ''"); n != 4 {
		t.Errorf("%d unreadable records, want 4", n)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM once"); n != 14 {
		t.Errorf("%d events, want 14", n)
	}
	if n := scan[uint64](t, conn, "SELECT sum(events) FROM throughput_minute"); n != 14 {
		t.Errorf("%d events in the throughput, want 14", n)
	}
	if n := scan[uint64](t, conn, "SELECT events FROM failures WHERE exception = 'truncated'"); n != 14 {
		t.Errorf("%d failures, want 14", n)
	}
	if n := scan[uint64](t, conn, "SELECT sum(steps) FROM latency"); n != 14 {
		t.Errorf("%d steps, want 14", n)
	}
	at := scan[time.Time](t, conn, "SELECT finished_at FROM event WHERE offset = 2")
	if want := time.Date(2026, 11, 21, 10, 2, 0, 123456000, time.UTC); !at.Equal(want) {
		t.Errorf("finished_at %v, want %v", at, want)
	}
}

// Whatever an event says has a column, under the event's own name for it.
func TestEveryFieldHasAColumn(t *testing.T) {
	h, conn := fresh(t)
	e := &schemas.StatusChanged{}
	other := map[string]string{"offset": "entry_offset", "check": "check_number"} // the record's offset; a word of SQL
	want := map[string]string{}
	at := time.Date(2026, 11, 21, 10, 2, 0, 123456000, time.UTC)
	for i, f := range reflect.VisibleFields(reflect.TypeFor[schemas.StatusChanged]()) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("avro"), ",")
		column := cmp.Or(other[name], name)
		v := reflect.ValueOf(e).Elem().FieldByIndex(f.Index)
		switch p := v.Addr().Interface().(type) {
		case *string:
			*p = fmt.Sprint("text", i)
			want[column] = *p
			if name == "run" || name == "session" || name == "file" || name == "document" {
				*p = schemas.ID("x", name)
				want[column] = *p
			}
		case *int32:
			*p = int32(1000 + i)
			want[column] = fmt.Sprint(*p)
		case *int64:
			*p = int64(1000 + i)
			want[column] = fmt.Sprint(*p)
		case **time.Time:
			moment := at.Add(time.Duration(i) * time.Second)
			*p = &moment
			want[column] = moment.Format("2006-01-02 15:04:05.000000")
		case *map[string]string:
			*p = map[string]string{"k": "it's"}
			want["attributes['k']"] = "it's"
		case *[]schemas.ErrorDetail:
			*p = []schemas.ErrorDetail{{Line: 1, Column: 2, Exception: "a"}, {Line: 3, Message: "it's \"bad\""}}
			want["errors.line"], want["errors.column"], want["errors.exception"], want["errors.message"] = "[1,3]", "[2,0]", "['a','']", `['','it\'s "bad"']`
		case *[]schemas.PassedPhase:
			later := at.Add(time.Second)
			*p = []schemas.PassedPhase{{Phase: "data", StartedAt: &at, FinishedAt: &later}, {Phase: "context"}}
			want["passed.phase"], want["passed.phase_id"] = "['data','context']", "[8,9]"
			want["passed.started_at"], want["passed.finished_at"] = "['2026-11-21 10:02:00.123456',NULL]", "['2026-11-21 10:02:01.123456',NULL]"
		default:
			t.Fatalf("%s is of a type that this test does not know", name)
		}
	}
	r, err := h.deps.Codec.Encode(schemas.Message{ID: schemas.ID("e"), Topic: schemas.StatusChangedTopic, Stage: "s", Time: at, Body: e})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Apply(t.Context(), []sink.Range{{Topic: schemas.StatusChangedTopic, To: 1, Records: []*kgo.Record{kafka.ToKgo("test", r)}}}); err != nil {
		t.Fatal(err)
	}
	for column, v := range want {
		if got := scan[string](t, conn, "SELECT toString("+column+") FROM event"); got != v {
			t.Errorf("%s: %s, want %s", column, got, v)
		}
	}
}

// A phase that was passed on the way is a row of its own in the view.
func TestPassedPhasesAreRows(t *testing.T) {
	h, conn := fresh(t)
	at := []time.Time{time.Unix(100, 0).UTC(), time.Unix(101, 0).UTC(), time.Unix(102, 0).UTC()}
	e := &schemas.StatusChanged{Entity: schemas.EntityDocument, Status: "done", Rows: 3, Passed: []schemas.PassedPhase{{Phase: "data", StartedAt: &at[0], FinishedAt: &at[1]}},
		Phase: "overview", StartedAt: &at[1], FinishedAt: &at[2]}
	r, err := h.deps.Codec.Encode(schemas.Message{ID: schemas.ID("e"), Topic: schemas.StatusChangedTopic, Stage: "s", Time: at[2], Body: e})
	if err != nil {
		t.Fatal(err)
	}
	records := []*kgo.Record{kafka.ToKgo("test", r), kafka.ToKgo("test", r)} // told twice
	records[1].Offset = 1
	if err := h.Apply(t.Context(), []sink.Range{{Topic: schemas.StatusChangedTopic, To: 2, Records: records}}); err != nil {
		t.Fatal(err)
	}
	got := scan[string](t, conn, "SELECT arrayStringConcat(groupArray(concat(phase, ' ', toString(phase_id), ' ', status, ' ', toString(toUnixTimestamp(assumeNotNull(started_at))))), ', ') FROM (SELECT * FROM once ORDER BY phase_id)")
	if want := "data 8 done 100, overview 10 done 101"; got != want {
		t.Errorf("the view shows %q, want %q", got, want)
	}
	if n := scan[int64](t, conn, "SELECT sum(rows) FROM throughput_minute WHERE phase = 'data'"); n != 3 {
		t.Errorf("%d rows in phase data, want 3", n)
	}
}

// TestALostAnswerDoesNotDouble sends the same insert twice without asking what
// is stored, as when the answer to the first was lost.
func TestALostAnswerDoesNotDouble(t *testing.T) {
	h, conn := fresh(t)
	r := span(t, h.deps.Codec, 0, 10)
	c, err := h.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.insert(t.Context(), c, []sink.Range{r}); err != nil {
			t.Fatal(err)
		}
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event"); n != 10 {
		t.Errorf("%d rows for 10 records", n)
	}
	// Cut elsewhere, the token does not help, but the key does.
	if err := h.insert(t.Context(), c, []sink.Range{{Topic: r.Topic, From: 3, To: 7, Records: r.Records[3:7]}}); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != 10 {
		t.Errorf("%d rows in the log for 10 records", n)
	}
}

// TestGaps tells offsets that never had a record from records that are
// missing.
func TestGaps(t *testing.T) {
	h, _ := fresh(t)
	r := span(t, h.deps.Codec, 0, 10)
	r.To = 15 // 10 to 14 are a transaction's markers
	if err := h.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 15, 20)}); err != nil {
		t.Errorf("after markers: %v", err)
	}
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 22, 25)}); !errors.Is(err, pg.ErrMoved) {
		t.Errorf("after a gap: %v, want that the position was moved", err)
	}
}

// TestClickHouseMayBeDown shows that nothing happens until it is up, and that
// then all does.
func TestClickHouseMayBeDown(t *testing.T) {
	up, conn := fresh(t)
	down := errors.New("connection refused")
	open := up.deps.Open
	up.deps.Open = func(string) (driver.Conn, error) { return nil, down }
	r := span(t, up.deps.Codec, 0, 3)
	if err := up.Apply(t.Context(), []sink.Range{r}); !errors.Is(err, down) {
		t.Fatalf("got %v, want that it is down", err)
	}
	up.deps.Open = open
	if err := up.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// TestADroppedTableIsFilledAgain shows that the history starts over from what
// ClickHouse holds: nothing.
func TestADroppedTableIsFilledAgain(t *testing.T) {
	h, conn := fresh(t)
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 0, 10)}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec(t.Context(), "DROP TABLE event"); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 2 { // the first call may still find the table gone
		err = h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 10, 20)})
	}
	if !errors.Is(err, pg.ErrMoved) {
		t.Fatalf("got %v, want that the position was moved", err)
	}
	if at, err := h.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != 0 {
		t.Errorf("position %d, %v; want 0", at, err)
	}
}

// TestCancelledApply leaves a batch that can come again.
func TestCancelledApply(t *testing.T) {
	h, conn := fresh(t)
	if _, err := h.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := span(t, h.deps.Codec, 0, 3)
	if err := h.Apply(ctx, []sink.Range{r}); err == nil {
		t.Fatal("a cancelled apply succeeded")
	}
	if err := h.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestAnUnknownSchemaWaits(t *testing.T) {
	h, conn := fresh(t)
	r := sink.Range{Topic: schemas.StatusChangedTopic, To: 1, Records: []*kgo.Record{{Value: []byte{0, 0, 9, 9, 9, 1}}}}
	err := h.Apply(t.Context(), []sink.Range{r})
	if named := new(sink.RecordError); !errors.Is(err, schemas.ErrUnknownSchema) || !errors.As(err, &named) {
		t.Fatalf("got %v, want an unknown schema of a named record", err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event"); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
}
