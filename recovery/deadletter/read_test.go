//go:build !race

package deadletter

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/wait"
	"tributary/topics"
)

// broker is one with the topics of dead letters.
func broker(t *testing.T) *Reader {
	t.Helper()
	var names []string
	for _, topic := range topics.DeadLetters() {
		names = append(names, topic.FullName("test"))
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	connect := func(opts ...kgo.Opt) (*kgo.Client, error) {
		return kgo.NewClient(append(opts, kgo.SeedBrokers(c.ListenAddrs()...))...)
	}
	return &Reader{Connect: connect, Codec: codec(t), Prefix: "test"}
}

func (r *Reader) write(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	client, err := r.Connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (r *Reader) ids(t *testing.T, f Filter) []string {
	t.Helper()
	var out []string
	if err := r.Scan(t.Context(), &f, func(l *Letter) error { out = append(out, l.ID); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func on(partition int32, r *kgo.Record) *kgo.Record {
	r.Partition = partition
	return r
}

func TestScanAndGet(t *testing.T) {
	r := broker(t)
	if got := r.ids(t, Filter{}); len(got) != 0 {
		t.Fatalf("no letter was written, but %v", got)
	}
	r.write(t, on(2, dead(t, schemas.DocumentExtractedTopic, "validate", "panic", "one", 1, extracted("a.zip", "x.xml"))),
		on(0, dead(t, schemas.DocumentExtractedTopic, "validate", "stalled", "two", 2, extracted("b.zip", "y.xml"))),
		on(2, dead(t, schemas.DocumentExtractedTopic, "validate", "undecodable", "three", 3, nil)),
		on(1, dead(t, schemas.DownloadRequestedTopic, "download", "panic", "four", 4, requested("a.zip"))))
	for _, tt := range []struct {
		f    Filter
		want []string
	}{
		{Filter{}, []string{"download:1:0", "validate:0:0", "validate:2:0", "validate:2:1"}},
		{Filter{Stage: "validate"}, []string{"validate:0:0", "validate:2:0", "validate:2:1"}},
		{Filter{Stage: "test.download"}, []string{"download:1:0"}},
		{Filter{Topic: "document.extracted"}, []string{"validate:0:0", "validate:2:0", "validate:2:1"}},
		{Filter{Topic: "test.download.requested.v1"}, []string{"download:1:0"}},
		{Filter{Stage: "test.insert"}, nil},
		{Filter{Topic: "document.ordered"}, nil},
		{Filter{Exception: "panic"}, []string{"download:1:0", "validate:2:0"}},
		{Filter{File: "a.zip", Stage: "validate"}, []string{"validate:2:0"}},
		{Filter{Since: time.Now().Add(time.Hour)}, nil},
	} {
		if diff := cmp.Diff(tt.want, r.ids(t, tt.f)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.f, diff)
		}
	}
	l, err := r.Get(t.Context(), "validate:2:1")
	if err != nil || l.Error != "three" || l.Problem == "" {
		t.Errorf("got %+v, %v", l, err)
	}
	for _, id := range []string{"validate:2:2", "validate:1:0", "validate:9:0", "plan:0:0", "x"} {
		if _, err := r.Get(t.Context(), id); err == nil {
			t.Errorf("there is a letter %s", id)
		}
	}
	if err := r.Scan(t.Context(), &Filter{Stage: "nobody"}, nil); err == nil || !strings.Contains(err.Error(), "download, unzip, validate, notify and insert") {
		t.Errorf("of a stage that is none: %v", err)
	}
}

// Reading ends though the last record of a stretch never comes: it was deleted
// after the bounds were asked for, or is no letter but a transaction's end. If
// it should be there, reading fails rather than waits.
func TestReadingEndsWithoutTheLastRecord(t *testing.T) {
	r := broker(t)
	var topic topics.Topic
	for _, topic = range topics.DeadLetters() {
		if topic.DeadLetter == "validate" {
			break
		}
	}
	name, n := topic.FullName(r.Prefix), 0
	read := func(to int64, want int) error {
		t.Helper()
		n = 0
		err := r.read(t.Context(), topic, kafka.Span{Topic: name, To: to}, func(*Letter) error { n++; return nil })
		if n != want {
			t.Errorf("%d letters up to %d, want %d", n, to, want)
		}
		return err
	}
	letter := func() *kgo.Record {
		return on(0, dead(t, schemas.DocumentExtractedTopic, "validate", "panic", "one", 1, extracted("a.zip", "x.xml")))
	}
	client, err := r.Connect(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), letter()).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	r.patience = time.Hour
	if err := read(2, 1); err != nil {
		t.Errorf("a transaction's end is the last: %v", err)
	}
	var gone kadm.Offsets
	gone.AddOffset(name, 0, 2, -1)
	if _, err := kadm.NewClient(client).DeleteRecords(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := read(2, 0); err != nil {
		t.Errorf("the records were deleted: %v", err)
	}
	r.write(t, letter())
	wait.Longer(t, 500*time.Millisecond, func(patience time.Duration) error {
		n, r.patience = 0, patience
		err := r.read(t.Context(), topic, kafka.Span{Topic: name, To: 5}, func(*Letter) error { n++; return nil })
		if n != 1 || err == nil || !strings.Contains(err.Error(), "from 3 to 4") {
			return fmt.Errorf("of one letter %d came, and records are missing: %w", n, err)
		}
		return nil
	})
}

// However many letters there are, they are not held.
func TestScanHoldsLittle(t *testing.T) {
	r := broker(t)
	const letters, size = 64, 500_000
	noise := rand.NewChaCha8([32]byte{}) // what is compressed on the wire would come all at once
	for i := range letters {
		rec := dead(t, schemas.DocumentExtractedTopic, "validate", "undecodable", "noise", int64(i), nil)
		rec.Value = make([]byte, size)
		noise.Read(rec.Value)
		r.write(t, on(0, rec))
	}
	// The letters that anything still holds are counted, not the heap, in which the
	// broker's is too.
	var given []weak.Pointer[Letter]
	most := 0
	err := r.Scan(t.Context(), &Filter{}, func(l *Letter) error {
		if given = append(given, weak.Make(l)); len(given)%8 != 0 {
			return nil
		}
		runtime.GC()
		held := 0
		for _, w := range given {
			if w.Value() != nil {
				held++
			}
		}
		most = max(most, held)
		return nil
	})
	if n := len(given); err != nil || n != letters {
		t.Fatalf("%d letters were read: %v", n, err)
	}
	if most > letters/4 {
		t.Errorf("%d of %d letters are held at once", most, letters)
	}
}
