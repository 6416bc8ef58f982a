package schemas

import (
	"slices"
	"testing"
	"time"
)

// Every event of the log goes through these: what each takes of memory is counted in
// pieces, which no machine's load changes.
func TestEventsTakeFewPiecesOfMemory(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 123000, time.UTC)
	m := Message{
		ID: EventID("validate", LiveRun, "x", "status"), Topic: StatusChangedTopic, Key: FileID(Add, "a.zip"), Stage: "validate", Subject: "add/a.zip", Time: at,
		Body: &StatusChanged{Scope: Scope{Run: LiveRun, Session: LiveRun, Centre: "H", Source: "harwell"}, FileRef: FileRef{File: FileID(Add, "a.zip"), FileName: "a.zip", Action: Add}, Entity: EntityFile, Phase: "xsd", Status: "done", FinishedAt: &at},
	}
	r, err := c.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	records := slices.Repeat([]Record{r}, 100)
	packed := PackRecords(records)
	for name, tc := range map[string]struct {
		most float64 // of 100 events
		work func() error
	}{
		"encoded": {500, func() error {
			for range records {
				if _, err := c.Encode(m); err != nil {
					return err
				}
			}
			return nil
		}},
		"unpacked": {250, func() error {
			_, err := UnpackRecords(packed)
			return err
		}},
	} {
		got := testing.AllocsPerRun(10, func() {
			if err := tc.work(); err != nil {
				t.Error(err)
			}
		})
		if got > tc.most {
			t.Errorf("100 events are %s in %.0f pieces of memory, at most %.0f are expected", name, got, tc.most)
		}
	}
}

// The values of an event's headers share their memory: who adds to one must not
// change the next.
func TestHeadersDoNotRunIntoEachOther(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	encode := func() Record {
		r, err := c.Encode(Message{ID: "1", Topic: UnzipFinishedTopic, Key: "k", Stage: "unzip", Subject: "s", Time: time.Unix(0, 0), Body: &UnzipFinished{}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want, got := encode(), encode()
	for _, h := range got.Headers {
		_ = append(h.Value, "more than there is room for"...)
	}
	for i, h := range got.Headers {
		if string(h.Value) != string(want.Headers[i].Value) {
			t.Errorf("the header %s became %q, it was %q", h.Key, h.Value, want.Headers[i].Value)
		}
	}
}
