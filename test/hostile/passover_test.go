package hostile

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/topics"
)

// Every stop has a way on by command: with a record in every topic that nobody can
// read, and positions that nobody gave, the system stands still and says where;
// once they are passed over it goes on by itself, and all that it made is what its
// topics make.
func TestEveryStopHasAWayOn(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, "")
	w.configure(false)
	engines := w.start("engines")
	w.must(func() string {
		_, err := w.rows("SELECT 1")
		return said(err)
	})
	if _, err := w.ask("topics", "apply"); err != nil {
		t.Fatal(err)
	}
	places := w.poison()
	if wrong := engines.stop(); wrong != "" {
		t.Fatal(wrong)
	}

	p := w.up()
	w.must(func() string {
		for _, topic := range []string{schemas.DownloadRequestedTopic, schemas.DocumentExtractedTopic, schemas.DocumentValidatedTopic, schemas.StatusChangedTopic} {
			if !p.warned(kafka.TopicName("tributary", topic)) {
				return "nothing is said of " + topic
			}
		}
		return ""
	})
	for _, at := range places {
		topic := kafka.TopicName("tributary", at.topic)
		var found []struct{ Genuine, Lost string }
		text, err := w.ask("topics", "pass-over", topic, "0", strconv.FormatInt(at.offset, 10), "--reason", "nobody wrote it", "-o", "json")
		if err == nil {
			err = json.Unmarshal([]byte(strings.TrimSpace(text)), &found)
		}
		if err != nil && json.Unmarshal([]byte("["+strings.TrimSpace(text)+"]"), &found) != nil {
			t.Fatalf("%s at offset %d: %v", at.topic, at.offset, err)
		}
		if at.topic == schemas.DocumentOrderedTopic && (len(found) != 1 || found[0].Genuine != "no" || found[0].Lost != "nothing that control gave") {
			t.Errorf("%s at offset %d: %+v", at.topic, at.offset, found)
		}
	}
	w.must(w.goodInserted)
	if text, err := w.ask("topics", "passed-over", "-o", "csv"); err != nil || strings.Count(text, "nobody wrote it") != len(places) {
		t.Errorf("%d records are passed over, %v, and these are listed:\n%s", len(places), err, text)
	}
	for _, store := range []string{"warehouse", "tracker", "history"} {
		if text, err := w.ask(store, "verify"); err != nil {
			t.Errorf("%s verify: %v\n%s", store, err, text)
		}
	}
	if p.ended() {
		t.Fatalf("the process has ended\n%s", p.tail())
	}
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}

// poisoned is where a record lies that nobody can read.
type poisoned struct {
	topic  string
	offset int64
}

// poison writes into the first partition of every topic a record of a schema that
// nobody knows, and into the one order also garbage, and positions that follow
// nothing. Nobody reads on behind those that are returned.
func (w *world) poison() (out []poisoned) {
	w.t.Helper()
	client := w.client()
	defer client.Close()
	codec, err := schemas.NewCodec()
	if err != nil {
		w.t.Fatal(err)
	}
	put := func(topic string, value []byte) int64 {
		name := kafka.TopicName("tributary", topic)
		offset := w.end(client, name)
		// One of the topic's first partition, whatever the key says.
		manual, err := kgo.NewClient(append(client.Opts(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		if err != nil {
			w.t.Fatal(err)
		}
		defer manual.Close()
		if err := manual.ProduceSync(w.t.Context(), &kgo.Record{Topic: name, Value: value, Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("x")}}}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
		return offset
	}
	for i, topic := range topics.Catalogue() {
		at := put(topic.Name, []byte{0, 0, 0, 0x7f, byte(i), 1})
		if topic.Name != schemas.RecordPassedOverTopic { // decides nothing
			out = append(out, poisoned{topic.Name, at})
		}
	}
	out = append(out, poisoned{schemas.DocumentOrderedTopic, put(schemas.DocumentOrderedTopic, []byte("garbage"))})
	for position := range int64(2) {
		forged, err := codec.EncodeBody(schemas.DocumentOrderedTopic, &schemas.DocumentOrdered{Position: position + 1, What: schemas.PositionDocument,
			Previous: strings.Repeat("ab", 32), Domain: "J", Result: schemas.FailedEnd, Exception: "xsd_invalid"})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, poisoned{schemas.DocumentOrderedTopic, put(schemas.DocumentOrderedTopic, forged)})
	}
	return out
}

// end is where the first partition of a topic ends.
func (w *world) end(client *kgo.Client, topic string) int64 {
	w.t.Helper()
	ends, err := kadm.NewClient(client).ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	o, _ := ends.Lookup(topic, 0)
	return o.Offset
}
