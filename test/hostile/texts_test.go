package hostile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/texts"
	"tributary/test/wait"
)

// write writes an event to its topic, whatever is in it.
func (w *world) write(client *kgo.Client, codec *schemas.Codec, topic string, body any) {
	w.t.Helper()
	value, err := codec.EncodeBody(topic, body)
	if err != nil {
		w.t.Fatal(err)
	}
	r := kafka.ToKgo("tributary", schemas.Record{Topic: topic, Key: "k", Value: value, Headers: []schemas.Header{
		{Key: "ce_id", Value: []byte(uuid.NewString())}, {Key: "ce_time", Value: []byte(time.Now().UTC().Format(time.RFC3339Nano))}, {Key: "ce_source", Value: []byte("/elsewhere")}}})
	ctx, cancel := context.WithTimeout(w.t.Context(), wait.Patience())
	defer cancel()
	if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// A10: no text in whatever field of an event keeps who judges it, or tells of it,
// from what is behind it: neither plan, nor unzip, nor sequence, nor the tracker.
func TestHostileTextsStopNothing(t *testing.T) {
	t.Parallel()
	w := setUp(t, 2, "")
	w.configure(false)
	p := w.up()
	w.must(w.goodInserted)
	client := w.client()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	valid := readAll(t, client, w.prefixed(t, client))
	for _, topic := range slices.Sorted(maps.Keys(valid)) {
		m, err := codec.Decode(kafka.FromKgo(valid[topic][0]))
		// On document.ordered nothing is set aside (TestForgedPositions), and a reference
		// that fits no archive is tried for minutes before it is a dead letter.
		if err != nil || m.Topic == schemas.DocumentOrderedTopic || m.Topic == schemas.DocumentExtractedTopic {
			continue
		}
		newBody := func() any {
			again, err := codec.Decode(kafka.FromKgo(valid[topic][0]))
			if err != nil {
				t.Fatal(err)
			}
			return again.Body
		}
		for _, hostile := range texts.Hostile()[:4] {
			for _, tc := range texts.Spoiled(newBody, hostile) {
				w.write(client, codec, m.Topic, tc.Body)
			}
		}
		// What is sound behind them is reached only if nobody stands still.
		w.write(client, codec, m.Topic, newBody())
	}
	w.must(func() string {
		return w.behind(client, "control.consumed") + w.behind(client, "tracker.consumed") + lag(t, client, "unzip")
	})
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}

// lag names the partitions whose ends a stage's group has not committed.
func lag(t *testing.T, client *kgo.Client, stage string) string {
	t.Helper()
	group := kafka.GroupName("tributary", stage)
	all, err := kadm.NewClient(client).Lag(t.Context(), group)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, l := range all[group].Lag.Sorted() {
		if l.Lag != 0 {
			fmt.Fprintf(&out, "%s has committed %s/%d up to %d of %d; ", stage, l.Topic, l.Partition, l.Commit.At, l.End.Offset)
		}
	}
	return out.String()
}

// behind names the partitions of which a table says that they were not read to their
// end.
func (w *world) behind(client *kgo.Client, table string) string {
	w.t.Helper()
	stored, err := w.rows("SELECT topic, partition, next_offset FROM " + table)
	if err != nil || len(stored) == 0 {
		return fmt.Sprint("nothing was read: ", err)
	}
	end, err := kadm.NewClient(client).ListEndOffsets(w.t.Context())
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, row := range stored {
		var topic string
		var id int32
		var next int64
		if _, err := fmt.Sscan(row, &topic, &id, &next); err != nil {
			return err.Error()
		}
		if o, ok := end.Lookup(topic, id); ok && next < o.Offset {
			fmt.Fprintf(&out, "%s: %s/%d is read to %d of %d; ", table, topic, id, next, o.Offset)
		}
	}
	return out.String()
}

// B1: what another program announces is taken up, or refused by name.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	w := setUp(t, 2, "")
	w.configure(false)
	p := w.up()
	w.must(w.goodInserted)
	// A source may announce files of its own centre only.
	known, err := w.rows(`SELECT id, centre FROM control.source ORDER BY id LIMIT 1`)
	if err != nil || len(known) != 1 {
		t.Fatal(known, err)
	}
	source, centre, _ := strings.Cut(known[0], " ")
	client := w.client()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	name := centre + ".2031-01-01.1.impc.zip"
	say := func(edit func(*schemas.FileDiscovered)) {
		d := &schemas.FileDiscovered{Scope: schemas.Scope{Source: source}, FileRef: schemas.FileRef{FileName: name, Action: schemas.Add}, Change: "new", Size: 100}
		edit(d)
		w.write(client, codec, schemas.FileDiscoveredTopic, d)
	}
	for range 2 {
		say(func(*schemas.FileDiscovered) {})
		say(func(d *schemas.FileDiscovered) { d.Source = "nosuch" })
		say(func(d *schemas.FileDiscovered) { d.Size = -1 })
		say(func(d *schemas.FileDiscovered) { d.File = uuid.NewString() })
		say(func(d *schemas.FileDiscovered) { d.FileName = "odd\x00.zip" })
		say(func(d *schemas.FileDiscovered) { d.Action = "../.." })
		say(func(d *schemas.FileDiscovered) { d.FileName = "odd.zip" })
	}
	// The file is not there: it was taken up, and ends by name.
	w.must(func() string {
		rows, err := w.rows(`SELECT file, exception FROM tracker.file WHERE file = $1 AND exception IS NOT NULL`, name)
		if err != nil || len(rows) != 1 {
			return fmt.Sprintf("%s, which was announced, has not ended by name: %v %v", name, rows, err)
		}
		return ""
	})
	w.must(func() string {
		rows, err := w.rows(`SELECT exception FROM tracker.file WHERE file = 'odd.zip'`)
		if err != nil || len(rows) != 1 || rows[0] == "" {
			return fmt.Sprintf("a bad name, which was announced, is not refused: %v %v", rows, err)
		}
		return ""
	})
	w.must(func() string {
		type refusal struct {
			Exception string `json:"exception"`
		}
		all, err := list[refusal](w, "sql", "--store", "history", "-o", "json", "SELECT DISTINCT exception FROM event WHERE entity = 'announcement' ORDER BY exception")
		if err != nil {
			return err.Error()
		}
		want := []refusal{{"announced_action_unknown"}, {"announced_entry_invalid"}, {"announced_file_mismatch"}, {"announced_source_unknown"}}
		if !slices.Equal(all, want) {
			return fmt.Sprintf("refused as %v, want %v", all, want)
		}
		return ""
	})
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}
