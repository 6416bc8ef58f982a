package asof

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tributary/consumers/history"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/schemas/schemastest"
)

// store puts records into a history of their own and returns a connection to
// it, as the history's consumer would.
func store(t *testing.T, partitions ...[]*kgo.Record) driver.Conn {
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	database := enginetest.Database(t, endpoint)
	codec := schemastest.Codec(t)
	h := history.New(config.History{}, history.Deps{Open: func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) },
		Database: database, Codec: codec, Log: slog.New(slog.DiscardHandler)})
	defer h.Close()
	var batch []sink.Range
	for i, records := range partitions {
		for n, r := range records {
			r.Partition, r.Offset = int32(i), int64(n)
		}
		batch = append(batch, sink.Range{Topic: schemas.StatusChangedTopic, Partition: int32(i), To: int64(len(records)), Records: records})
	}
	if err := h.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	conn, err := engine.OpenClickHouse(endpoint, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// encoded is an event as the log has it.
func encoded(t *testing.T, e Event, id string) *kgo.Record {
	t.Helper()
	codec := schemastest.Codec(t)
	r, err := codec.Encode(schemas.Message{ID: schemas.ID("event", id), Topic: schemas.StatusChangedTopic, Stage: "test", Time: e.At, Body: &e.StatusChanged})
	if err != nil {
		t.Fatal(err)
	}
	return kafka.ToKgo("test", r)
}

// event draws an event with anything in any field.
func event(t *rapid.T) Event {
	// What ClickHouse can hold.
	least, most := time.Date(1900, 1, 1, 0, 0, 0, 1000, time.UTC).UnixMicro(), time.Date(2261, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()
	moment := rapid.Custom(func(t *rapid.T) time.Time { return time.UnixMicro(rapid.Int64Range(least, most).Draw(t, "µs")).UTC() })
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "H", "it's \"bad\"", "a\nb\tc\\", "\x00", "\u00e9\u6f22"}))
	e := Event{At: moment.Draw(t, "at")}
	body := reflect.ValueOf(&e.StatusChanged).Elem()
	for _, f := range reflect.VisibleFields(body.Type()) {
		if f.Anonymous {
			continue
		}
		switch p := body.FieldByIndex(f.Index).Addr().Interface().(type) {
		case *string:
			*p = words.Draw(t, f.Name)
			switch f.Name { // ids
			case "Run", "Session", "File", "Document":
				if *p != "" {
					*p = schemas.ID("x", *p)
				}
			}
		case *int32:
			*p = rapid.Int32().Draw(t, f.Name)
		case *int64:
			*p = rapid.Int64().Draw(t, f.Name)
		case **time.Time:
			if rapid.Bool().Draw(t, f.Name) {
				at := moment.Draw(t, f.Name)
				*p = &at
			}
		case *map[string]string:
			*p = rapid.MapOfN(words, words, 0, 4).Draw(t, f.Name)
		case *[]schemas.ErrorDetail:
			*p = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schemas.ErrorDetail {
				return schemas.ErrorDetail{Line: rapid.Int32().Draw(t, "line"), Column: rapid.Int32().Draw(t, "column"),
					Exception: words.Draw(t, "exception"), Message: words.Draw(t, "message")}
			}), 0, 4).Draw(t, f.Name)
		case *[]schemas.PassedPhase:
			*p = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schemas.PassedPhase {
				out := schemas.PassedPhase{Phase: words.Draw(t, "phase")}
				for _, at := range []**time.Time{&out.StartedAt, &out.FinishedAt} {
					if rapid.Bool().Draw(t, "has") {
						m := moment.Draw(t, "moment")
						*at = &m
					}
				}
				return out
			}), 0, 3).Draw(t, f.Name)
		default:
			t.Fatalf("%s is of a type that this test does not know", f.Name)
		}
	}
	return e
}

// An event is in the history whole: what is read back is what was told.
func TestEventsAreReadBack(t *testing.T) {
	const n = 300
	var want []Event
	var records []*kgo.Record
	for i := range n {
		e := rapid.Custom(event).Example(i)
		records = append(records, encoded(t, e, fmt.Sprint(i)))
		schemas.CleanBody(&e.StatusChanged) // as whoever decodes it does
		want = append(want, e)
	}
	records = append(records, &kgo.Record{Value: []byte("no event")})
	p := &past{Reader: &Reader{History: store(t, records)}}
	var got []Event
	odd := 0
	if err := p.read(t.Context(), part{where: "1"}, func(s stored) error {
		if s.unreadable != "" {
			odd++
			return nil
		}
		if s.topic != schemas.StatusChangedTopic || s.partition != 0 || s.offset != int64(len(got)) {
			t.Errorf("record %s/%d/%d, want %s/0/%d", s.topic, s.partition, s.offset, schemas.StatusChangedTopic, len(got))
		}
		got = append(got, s.Event)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if odd != 1 {
		t.Errorf("%d records are no events, want 1", odd)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("events (-told +read):\n%s", diff)
	}
}
