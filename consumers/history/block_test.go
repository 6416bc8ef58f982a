//go:build !race

package history

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// A block holds the same rows, column by column, as cells do one by one; and
// one that is used again holds nothing of what it held before.
func TestBlockHoldsTheSameRows(t *testing.T) {
	h := &History{deps: Deps{Codec: codec(t)}}
	b, r := newBlock(), reader{codec: h.deps.Codec}
	rapid.Check(t, func(t *rapid.T) {
		b.reset()
		var want [][]any
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			rec := anyRecord(t, h.deps.Codec)
			row, err := h.row(schemas.StatusChangedTopic, rec)
			if err != nil {
				t.Fatal(err)
			}
			if len(row) != len(columns()) {
				t.Fatalf("%d values for %d columns", len(row), len(columns()))
			}
			want = append(want, row)
			if err := r.write(b, schemas.StatusChangedTopic, rec); err != nil {
				t.Fatal(err)
			}
			b.end()
		}
		if b.rows != len(want) || len(b.columns) != len(columns()) {
			t.Fatalf("%d rows of %d columns, want %d of %d", b.rows, len(b.columns), len(want), len(columns()))
		}
		for i, name := range columns() {
			for n, row := range want {
				if diff := cmp.Diff(row[i], b.columns[i].cell(n, row[i]), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("column %s of row %d (-one by one +block):\n%s", name, n, diff)
				}
			}
		}
	})
}

// cell is the n-th value of a column, in the form of like.
func (c *blockColumn) cell(n int, like any) any {
	switch like.(type) {
	case string:
		if c.strings != nil {
			return c.strings[n]
		}
		if c.boxes[n] == nil {
			return ""
		}
		return c.boxes[n]
	case uint8:
		return c.bytes[n]
	case int32:
		return c.ints[n]
	case int64:
		return c.longs[n]
	case uuid.UUID:
		return c.ids[n]
	case *uuid.UUID:
		return pointers(c.ids, c.nulls)[n]
	case time.Time:
		return c.times[n]
	case *time.Time:
		return pointers(c.times, c.nulls)[n]
	}
	return c.boxes[n]
}

// anyRecord is a record of an event, or of none.
func anyRecord(t *rapid.T, c *schemas.Codec) *kgo.Record {
	if rapid.IntRange(0, 9).Draw(t, "unreadable") == 0 {
		return &kgo.Record{Value: []byte("no event")}
	}
	text := rapid.StringN(0, 3, -1)
	instant := func(label string) time.Time {
		return time.Unix(rapid.Int64Range(-1<<36, 1<<36).Draw(t, label), rapid.Int64Range(0, 999_999).Draw(t, label)*1000).UTC()
	}
	maybe := func(label string) *time.Time {
		if rapid.Bool().Draw(t, label) {
			return nil
		}
		at := instant(label)
		return &at
	}
	e := &schemas.StatusChanged{Entity: text.Draw(t, "entity"), Server: text.Draw(t, "server"), Attempt: rapid.Int32().Draw(t, "attempt"),
		Phase: rapid.SampledFrom([]string{"", "xsd", "qc", "other"}).Draw(t, "phase"), Status: rapid.SampledFrom([]string{"", "done", "failed"}).Draw(t, "status"),
		Message: text.Draw(t, "message"), Bytes: rapid.Int64().Draw(t, "bytes"), ModTime: maybe("mod_time"), FinishedAt: maybe("finished_at")}
	e.Run = rapid.SampledFrom([]string{"", schemas.LiveRun, "no uuid"}).Draw(t, "run")
	e.FileName, e.Document, e.Entry = text.Draw(t, "file"), text.Draw(t, "document"), text.Draw(t, "entry")
	for range rapid.IntRange(0, 2).Draw(t, "passed") {
		e.Passed = append(e.Passed, schemas.PassedPhase{Phase: "unzip", StartedAt: maybe("began"), FinishedAt: maybe("ended")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "errors") {
		e.Errors = append(e.Errors, schemas.ErrorDetail{Line: rapid.Int32().Draw(t, "line"), Exception: text.Draw(t, "exception"), Message: text.Draw(t, "said")})
	}
	if rapid.Bool().Draw(t, "attributes") {
		e.Attributes = map[string]string{text.Draw(t, "key"): text.Draw(t, "value")}
	}
	out, err := c.Encode(schemas.Message{ID: text.Draw(t, "id") + "x", Topic: schemas.StatusChangedTopic, Stage: text.Draw(t, "stage"), Subject: text.Draw(t, "subject"),
		Time: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0), Body: e})
	if err != nil {
		t.Fatal(err)
	}
	r := kafka.ToKgo("test", out)
	r.Partition, r.Offset = rapid.Int32().Draw(t, "partition"), rapid.Int64().Draw(t, "offset")
	return r
}

// A record of a newer version waits for an upgrade: it is no row.
func TestBlockRefusesWhatIsNewer(t *testing.T) {
	r := reader{codec: codec(t)}
	if err := r.write(newBlock(), schemas.StatusChangedTopic, &kgo.Record{Value: []byte{0, 0x7f, 0, 0, 0, 0}}); !errors.Is(err, schemas.ErrUnknownSchema) {
		t.Errorf("got %v, want an unknown schema", err)
	}
}

// A row is hashed as it is read as its values are hashed one by one.
func TestRowHasherHashesTheSameRows(t *testing.T) {
	h := &History{deps: Deps{Codec: codec(t)}}
	var hasher rowHasher
	r := reader{codec: h.deps.Codec}
	rapid.Check(t, func(t *rapid.T) {
		rec := anyRecord(t, h.deps.Codec)
		row, err := h.row(schemas.StatusChangedTopic, rec)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := hashRow(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		told, err := r.read(rec)
		if err != nil {
			t.Fatal(err)
		}
		if got := hasher.hash(&told, schemas.StatusChangedTopic, rec); got != want {
			t.Errorf("%016x, want %016x", got, want)
		}
	})
}
