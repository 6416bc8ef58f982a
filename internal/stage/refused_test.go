package stage

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/members"
)

// noise is text that no compression makes smaller.
func noise(n int) string {
	rng := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	rng.Read(b)
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b)
}

// limit sets the largest batch that a topic takes.
func (b *bench) limit(topic string, bytes int) {
	b.T.Helper()
	text := strconv.Itoa(bytes)
	responses, err := kadm.NewClient(b.Client).AlterTopicConfigs(b.T.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &text}}, topic)
	if err != nil || len(responses) != 1 || responses[0].Err != nil {
		b.T.Fatal(err, responses)
	}
}

// told emits a long output for bad records, and a short one for others.
func told(ctx context.Context, in Input) error {
	m := schemas.Message{ID: "of " + in.Message.ID, Topic: endT, Key: in.Message.Key, Body: &schemas.UnzipFinished{Exception: "short"}}
	if strings.HasPrefix(in.Message.Key, "bad") {
		m.Body = &schemas.UnzipFinished{Exception: noise(20_000)}
	}
	return in.Emit(ctx, m)
}

// What a broker refuses for good makes its record poison at once, and none of the
// records whose outputs were in the same batch.
func TestARefusedOutputIsPoison(t *testing.T) {
	b := newBench(t, 1)
	b.limit(kafka.TopicName(prefix, endT), 10_000)
	const total = 40
	for n := range total {
		key := "good" + strconv.Itoa(n)
		if n%20 == 7 {
			key = "bad" + strconv.Itoa(n)
		}
		b.Produce(members.Message(key, n))
	}
	b.start(funcs{work: told, fail: quarantine}, func(c *Config) { c.Parallelism = total })
	members.Eventually(t, "all are done", func() bool { at, _ := b.committed("test.work", 0); return at == total })
	dead := b.Read(kafka.DLQName(prefix, inTopic, "work"), 2)
	for _, d := range dead {
		if !bytes.HasPrefix(d.Key, []byte("bad")) {
			t.Errorf("%s is a dead letter", d.Key)
		}
		if got := members.Header(d, kafka.HeaderErrorClass); got != ClassRefused {
			t.Errorf("class %q, want %q", got, ClassRefused)
		}
		if got := members.Header(d, kafka.HeaderAttempts); got != "1" {
			t.Errorf("%s attempts, want 1", got)
		}
	}
	if n := b.End(kafka.DLQName(prefix, inTopic, "work"), 0); n != 2 {
		t.Errorf("%d dead letters, want 2", n)
	}
	ids := map[string]int{}
	for _, r := range b.Read(kafka.TopicName(prefix, endT), total) {
		ids[members.Header(r, "ce_id")]++
	}
	if ids["end of bad7-7"] != 1 || ids["end of bad27-27"] != 1 || len(ids) != total {
		t.Errorf("the ends are %v", ids)
	}
}

// An output that is larger than any topic takes is refused before it is sent.
func TestATooLargeOutputIsPoison(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("bad", 1), members.Message("good", 2))
	b.start(funcs{fail: quarantine, work: func(ctx context.Context, in Input) error {
		if in.Message.Key == "good" {
			return nil
		}
		return in.Emit(ctx, schemas.Message{ID: "x", Topic: endT, Key: "bad", Body: &schemas.UnzipFinished{Exception: noise(2 << 20)}})
	}}, nil)
	members.Eventually(t, "both are done", func() bool { at, _ := b.committed("test.work", 0); return at == 2 })
	dead := b.Read(kafka.DLQName(prefix, inTopic, "work"), 1)[0]
	if got := members.Header(dead, kafka.HeaderErrorClass); got != ClassRefused {
		t.Errorf("class %q, want %q", got, ClassRefused)
	}
	if got := members.Header(dead, kafka.HeaderError); !strings.Contains(got, schemas.EventTooLarge) || len(got) > maxErrorText {
		t.Errorf("the error is %q", got)
	}
	b.Read(kafka.TopicName(prefix, endT), 1)
}

// A failed end that no topic takes is cut, and so is a dead letter; where nothing
// helps, the record does not stay for ever.
func TestTheEndOfPoisonIsCut(t *testing.T) {
	long := func(in schemas.Message, _ error) []schemas.Message {
		return []schemas.Message{{ID: "end of " + in.ID, Topic: endT, Key: in.Key, Body: &schemas.UnzipFinished{Exception: noise(2 << 20), Message: noise(1 << 20)}}}
	}
	for name, limit := range map[string]int{"as it is made": 1 << 20, "when a broker refuses it": 600, "where nothing fits": 100} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1)
			dlq := kafka.DLQName(prefix, inTopic, "work")
			if limit < 1<<20 {
				b.limit(dlq, limit)
			}
			b.Produce(members.Message("bad", 1))
			b.start(funcs{fail: long, work: func(context.Context, Input) error { panic("boom") }}, func(c *Config) { c.MaxStrikes = 1 })
			members.Eventually(t, "the record is done", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
			end := b.Read(kafka.TopicName(prefix, endT), 1)[0]
			if len(end.Value) > 4096 {
				t.Errorf("the end has %d bytes", len(end.Value))
			}
		})
	}
}

// A record that came in compressed may be larger than any letter: its beginning
// is kept, and the letter says so.
func TestALetterOfAHugeRecordIsCut(t *testing.T) {
	b := newBench(t, 1)
	dlq := kafka.DLQName(prefix, inTopic, "work")
	b.limit(dlq, kafka.MaxDeadLetterBatch)
	value := bytes.Repeat([]byte("x"), 8<<20)
	other := b.NewClient(kgo.ProducerBatchMaxBytes(16<<20), kgo.MaxBufferedBytes(32<<20))
	if err := other.ProduceSync(t.Context(), &kgo.Record{Topic: kafka.TopicName(prefix, inTopic), Value: value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.start(funcs{}, nil)
	members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	dead := b.Read(dlq, 1)[0]
	if len(dead.Value) < 1<<20 || !bytes.HasPrefix(value, dead.Value) {
		t.Errorf("%d bytes are kept", len(dead.Value))
	}
	if got := members.Header(dead, kafka.HeaderTruncated); got != strconv.Itoa(8<<20) {
		t.Errorf("it says that it was cut from %q bytes", got)
	}
	if got := members.Header(dead, kafka.HeaderOffset); got != "0" {
		t.Errorf("it says offset %q", got)
	}
}

func TestWhatIsRefusedForGood(t *testing.T) {
	for err, want := range map[error]bool{
		kerr.MessageTooLarge: true, kerr.RecordListTooLarge: true, kerr.InvalidRecord: true, kerr.InvalidTimestamp: true, kerr.CorruptMessage: true,
		kerr.UnsupportedForMessageFormat: true, &schemas.TooLargeError{}: true,
		kerr.NotEnoughReplicas: false, kerr.TopicAuthorizationFailed: false, kerr.UnknownTopicOrPartition: false, context.Canceled: false, kgo.ErrRecordTimeout: false,
	} {
		if got := refusedForGood(err); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
		if want && isTransient(unproduced("t", err)) {
			t.Errorf("%v is taken for one that ends by itself", err)
		}
	}
}
