package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"github.com/twmb/avro"
)

var update = flag.Bool("update", false, "write the schema files of topics that have none yet")

// topicsInOrder fixes the first id of every topic: 1001, 1002, …
func topicsInOrder() []string {
	return []string{
		FileDiscoveredTopic, DownloadRequestedTopic, DownloadFinishedTopic, UnzipFinishedTopic,
		DocumentExtractedTopic, DocumentValidatedTopic, DocumentOrderedTopic, StatusChangedTopic,
		RecordPassedOverTopic,
	}
}

func indented(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", " "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// TestNewestSchemaIsTheGoType fails when an event type was changed without
// publishing a new version of its schema.
func TestNewestSchemaIsTheGoType(t *testing.T) {
	for i, topic := range topicsInOrder() {
		want, err := schemaOf(topic)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			name := fmt.Sprintf("avro/%s.1.%d.avsc", topic, 1001+i)
			if err := os.WriteFile(name, indented(t, want.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		c, err := NewCodec()
		if err != nil {
			t.Fatal(err)
		}
		w, ok := c.writers[topic]
		if !ok {
			t.Fatalf("topic %s has no schema file", topic)
		}
		if newest := w.steps[0]; !bytes.Equal(newest.Schema.Canonical(), want.Canonical()) {
			t.Errorf("%s: the Go type differs from version %d; publish a new version beside it", topic, newest.Version.Version)
		}
	}
}

// TestVersionsAreCompatibleBothWays refuses a version that an older reader, or
// a newer one, could not read.
func TestVersionsAreCompatibleBothWays(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range c.Versions() {
		for _, b := range c.Versions()[i:] {
			if a.Topic == b.Topic {
				if err := Compatible(a.Schema, b.Schema); err != nil {
					t.Errorf("%s versions %d and %d: %v", a.Topic, a.Version, b.Version, err)
				}
			}
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 123000, time.UTC)
	want := Message{
		ID: EventID("poll", LiveRun, "x", "file.discovered"), Topic: FileDiscoveredTopic, Key: "k",
		Stage: "poll", Subject: "add/H.2012-10-02.01.impc.zip", Time: at, Traceparent: "00-1-2-01",
		Body: &FileDiscovered{
			Scope:   Scope{Run: LiveRun, Centre: "H", Source: "harwell"},
			FileRef: FileRef{File: FileID(Add, "a.zip"), FileName: "a.zip", Action: Add},
			Change:  "new", Look: 1, Size: 42, ModTime: &at,
		},
	}
	r, err := c.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Decode(r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.EncodeBody(UnzipFinishedTopic, &UnzipFinished{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		value []byte
		want  error
	}{
		"empty":      {nil, ErrNotFramed},
		"json":       {[]byte(`{"a":1}`), ErrNotFramed},
		"unknown id": {[]byte{0, 0, 0, 0, 9, 1, 2}, ErrUnknownSchema},
		"no id":      {body, ErrNoID},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Decode(Record{Value: tc.value}); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	if _, err := c.Decode(Record{Value: body[:6]}); err == nil {
		t.Error("a truncated body was decoded")
	}
}

func TestIDsTellPartsApart(t *testing.T) {
	if ID("a", "bc") == ID("ab", "c") {
		t.Error("different lists of parts share an id")
	}
	if FileID(Add, "x") == FileID(Edit, "x") {
		t.Error("an action does not tell files apart")
	}
}

func TestPackedRecords(t *testing.T) {
	want := []Record{
		{Topic: "status.changed", Key: "k", Value: []byte("v"), Headers: []Header{{"ce_id", []byte("1")}, {"empty", []byte{}}, {"", []byte("no key")}, {"long", bytes.Repeat([]byte("x"), 300)}}},
		{Topic: "t", Key: "", Value: []byte{}},
		{Topic: "status.changed", Key: "k", Value: bytes.Repeat([]byte{0}, 5000), Headers: []Header{{"ce_id", []byte("2")}}},
	}
	packed := PackRecords(want)
	got, err := UnpackRecords(packed)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for n := range len(packed) {
		if _, err := UnpackRecords(packed[:n]); err == nil {
			t.Fatalf("cut at %d of %d it reads as whole", n, len(packed))
		}
	}
	raw, err := s2.Decode(nil, packed)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(raw); n++ {
		if got, err := UnpackRecords(s2.Encode(nil, raw[:n])); err == nil && len(got) >= len(want) {
			t.Fatalf("cut at %d of %d it reads as whole", n, len(raw))
		}
	}
}

// schemaOf infers the Avro schema of a topic's Go type, as a new version of it
// would be published.
func schemaOf(topic string) (*avro.Schema, error) {
	e, ok := typeOf(topic)
	if !ok {
		return nil, fmt.Errorf("no event type for topic %q", topic)
	}
	return e.infer(avro.WithNamespace("tributary"))
}
