package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// testLog is a log on a broker.
type testLog struct {
	connect kafka.Factory
	client  *kgo.Client
	prefix  string
	topic   string
	codec   *schemas.Codec
	n       int64
}

func newLog(t testing.TB, partitions int32) *testLog {
	t.Helper()
	return logOn(t, enginetest.Broker(t), partitions)
}

// logOn is a log on the given brokers.
func logOn(t testing.TB, brokers []string, partitions int32) *testLog {
	t.Helper()
	settings := config.Default().Kafka
	l := &testLog{connect: kafka.NewFactory(settings, brokers, slog.New(slog.DiscardHandler)), prefix: settings.TopicPrefix,
		topic: kafka.TopicName(settings.TopicPrefix, schemas.StatusChangedTopic), codec: codec(t)}
	var err error
	if l.client, err = l.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.client.Close)
	l.create(t, partitions)
	return l
}

// reader is a history whose log this is.
func (l *testLog) reader(h *History) *History {
	h.deps.Connect, h.deps.Prefix = l.connect, l.prefix
	return h
}

func (l *testLog) create(t testing.TB, partitions int32) {
	t.Helper()
	enginetest.Topics(t, l.client, partitions, nil, l.topic)
}

// events are n further events, every third told twice and some unreadable, with
// passed phases among them.
func (l *testLog) events(t testing.TB, n int) {
	t.Helper()
	var records []*kgo.Record
	for range n {
		r := record(t, l.codec, l.n)
		if l.n%5 == 0 {
			at := []time.Time{time.Unix(1e9+l.n*7777, 0).UTC(), time.Unix(1e9+l.n*7777+3, 5000).UTC()}
			e := &schemas.StatusChanged{
				Scope: schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: fmt.Sprint("s", l.n%2)}, Entity: schemas.EntityDocument,
				Phase: "overview", Status: "done", StartedAt: &at[0], FinishedAt: &at[1], Bytes: l.n, Rows: 3,
				Passed:     []schemas.PassedPhase{{Phase: "data", StartedAt: &at[0], FinishedAt: &at[1], VersionOf: "d1"}, {Phase: "context"}},
				Attributes: map[string]string{"b": "2", "a": "1", "c": "it's\t\n\\"}, VersionOf: "d1",
			}
			if l.n%3 == 0 {
				e.Run = "00000000-0000-8000-8000-000000000001" // a shadow
			}
			encoded, err := l.codec.Encode(schemas.Message{ID: schemas.ID("d", fmt.Sprint(l.n)), Topic: schemas.StatusChangedTopic, Stage: "insert", Time: at[1], Body: e})
			if err != nil {
				t.Fatal(err)
			}
			r = kafka.ToKgo("test", encoded)
		}
		r.Topic, r.Key = l.topic, []byte(fmt.Sprint(l.n/3)) // repeats have the same key
		records = append(records, r)
		l.n++
	}
	if err := l.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// sink stores what of the log the history does not have, as the role does.
func (l *testLog) sink(ctx context.Context, h *History) error {
	log, _, err := logIntervals(ctx, l.client, l.topic)
	if err != nil {
		return err
	}
	for p, i := range log {
		if i.from, err = h.Position(ctx, schemas.StatusChangedTopic, p); err != nil {
			return err
		}
		at := i.from
		if err := readLog(ctx, l.connect, l.topic, map[int32]interval{p: i}, func(p int32, records []*kgo.Record) error {
			to := records[len(records)-1].Offset + 1
			err := h.Apply(ctx, []sink.Range{{Topic: schemas.StatusChangedTopic, Partition: p, From: at, To: to, Records: records}})
			at = to
			return err
		}); err != nil && !errors.Is(err, pg.ErrMoved) {
			return err
		}
	}
	return nil
}

func (l *testLog) store(t testing.TB, h *History) {
	t.Helper()
	err := l.sink(t.Context(), h)
	if refused(err) { // it looks after the table once more, as the role does
		err = l.sink(t.Context(), h)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// verify compares in small ranges, and gives what differs.
func (l *testLog) verify(t testing.TB, h *History) (Verified, []Difference, []Rollup) {
	t.Helper()
	var differences []Difference
	var rollups []Rollup
	v, err := l.reader(h).Verify(t.Context(), VerifyOptions{Range: 25, Scratch: t.TempDir(),
		Difference: func(d Difference) error { differences = append(differences, d); return nil },
		Rollup:     func(r Rollup) error { rollups = append(rollups, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return v, differences, rollups
}

func exec(t testing.TB, conn driver.Conn, sql string) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// What was stored as the log says is equal, while the log grows; and each of
// these changes is found, and named by its place.
func TestVerifyFindsEachChange(t *testing.T) {
	h, conn := fresh(t)
	l := newLog(t, 3)
	l.events(t, 100)
	l.store(t, h)
	l.events(t, 7)
	l.n += 1000
	v, differences, rollups := l.verify(t, h)
	if !v.Equal() || v.Complete() || v.RollupsSkipped != 0 || v.LogRecords != 100 || v.HistoryRows != 100 || v.Behind != 7 || v.RollupsEqual != v.Rollups || v.Rollups != 6 {
		t.Fatalf("unchanged: %+v, %+v, %+v", v, differences, rollups)
	}
	for _, r := range rollups {
		if r.LogEvents == 0 || r.LogEvents != r.RollupEvents {
			t.Errorf("rollup %+v", r)
		}
	}
	l.store(t, h)
	place := func(p int32, offset int64, kind string, columns ...Column) Difference {
		return Difference{Kind: kind, Topic: schemas.StatusChangedTopic, Partition: p, Offset: offset, Columns: columns}
	}
	const sync = " SETTINGS mutations_sync = 2"
	for _, tc := range []struct {
		name, change, undo string
		want               []Difference
		rollups            int // that differ
	}{
		{"a text", "ALTER TABLE event UPDATE message = 'x' WHERE partition = 1 AND offset = 3" + sync, "ALTER TABLE event UPDATE message = '' WHERE partition = 1 AND offset = 3" + sync,
			[]Difference{place(1, 3, Changed, Column{"message", "", "x"})}, 0},
		{"a number that is summed up", "ALTER TABLE event UPDATE rows = rows + 1 WHERE partition = 0 AND offset = 2" + sync, "ALTER TABLE event UPDATE rows = rows - 1 WHERE partition = 0 AND offset = 2" + sync,
			[]Difference{place(0, 2, Changed)}, 3},
		{"a map", "ALTER TABLE event UPDATE attributes = map('k', 'w') WHERE partition = 2 AND offset = 5" + sync, "", []Difference{place(2, 5, Changed)}, 0},
		{"a row deleted, and one too many", "DELETE FROM event WHERE partition = 2 AND offset = 5", "", []Difference{place(2, 5, Missing)}, -1},
		{"a row beyond the log", "INSERT INTO event SELECT * REPLACE (10000 AS offset) FROM (SELECT * FROM event FINAL WHERE partition = 0 AND offset = 0)", "ALTER TABLE event DELETE WHERE offset = 10000" + sync,
			[]Difference{place(0, 10000, Extra), place(2, 5, Missing)}, -1},
		{"a partition that the log has not", "INSERT INTO event SELECT * REPLACE (7 AS partition) FROM (SELECT * FROM event FINAL WHERE partition = 0 AND offset = 0)", "ALTER TABLE event DELETE WHERE partition = 7" + sync,
			[]Difference{place(7, 0, Extra), place(2, 5, Missing)}, -1},
	} {
		exec(t, conn, tc.change)
		v, differences, rollups := l.verify(t, h)
		sorted := cmpopts.SortSlices(func(a, b Difference) bool { return a.Partition < b.Partition })
		if diff := cmp.Diff(tc.want, differences, sorted, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Columns" && tc.want[0].Columns == nil }, cmp.Ignore())); diff != "" || v.Equal() {
			t.Errorf("%s: %+v\n%s", tc.name, v, diff)
		}
		var different int
		for _, r := range rollups {
			if !r.Equal {
				different++
			}
			if dated := len(r.Days) > 0; dated != (!r.Equal && r.Name != "failures") || slices.Contains(r.Days, "1970-01-01") {
				t.Errorf("%s: the rollup %s, equal: %t, differs on the days %v", tc.name, r.Name, r.Equal, r.Days)
			}
		}
		if tc.rollups >= 0 && different != tc.rollups {
			t.Errorf("%s: %d rollups differ, want %d: %+v", tc.name, different, tc.rollups, rollups)
		}
		if tc.undo != "" {
			exec(t, conn, tc.undo)
		}
	}
}
