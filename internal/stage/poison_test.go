package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/members"
)

// quarantine is the failed end of a message.
func quarantine(in schemas.Message, _ error) []schemas.Message {
	return []schemas.Message{{ID: "end of " + in.ID, Topic: endT, Key: in.Key, Body: &schemas.UnzipFinished{}}}
}

func TestPoisonIsSetAside(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	tests := []struct {
		name     string
		work     func(context.Context, Input) error
		class    string
		text     string
		attempts int
	}{
		{"a panic", func(context.Context, Input) error { panic("boom") }, ClassPanic, "boom", 3},
		{"a stall", func(ctx context.Context, _ Input) error { <-ctx.Done(); return ctx.Err() }, ClassStalled, "no progress", 3},
		{"a stall that does not end", func(context.Context, Input) error { <-release; return nil }, ClassStalled, "no progress", 3},
		{"the same failure again and again", func(context.Context, Input) error { return errors.New("no such column") }, ClassFailed, "no such column", 10},
		{"output that cannot be written", func(ctx context.Context, in Input) error {
			m := members.Echo(in.Message)
			m.Topic = "no.such.topic"
			return in.Emit(ctx, m)
		}, ClassFailed, "no schema", 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 1)
			b.Produce(members.Message("bad", 1), members.Message("good", 2))
			b.start(funcs{fail: quarantine, work: func(ctx context.Context, in Input) error {
				if in.Message.Key == "bad" {
					return tt.work(ctx, in)
				}
				return nil
			}}, func(c *Config) {
				if tt.class == ClassStalled { // others are late only where the machine is busy
					c.Stall, c.Grace = 50*time.Millisecond, 50*time.Millisecond
				}
			})

			members.Eventually(t, "the offset moves past the poison", func() bool {
				at, _ := b.committed("test.work", 0)
				return at == 2
			})
			dead := b.Read(kafka.DLQName(prefix, inTopic, "work"), 1)[0]
			end := b.Read(kafka.TopicName(prefix, endT), 1)[0]
			original := b.Read(kafka.TopicName(prefix, inTopic), 1)[0]
			if !bytes.Equal(dead.Key, original.Key) || !bytes.Equal(dead.Value, original.Value) {
				t.Error("the dead letter's key or value is not the original")
			}
			for i, h := range original.Headers {
				if dead.Headers[i].Key != h.Key || !bytes.Equal(dead.Headers[i].Value, h.Value) {
					t.Errorf("header %s of the dead letter is not the original", h.Key)
				}
			}
			for key, want := range map[string]string{
				kafka.HeaderTopic: "test.file.discovered.v1", kafka.HeaderPartition: "0", kafka.HeaderOffset: "0",
				kafka.HeaderStage: "work", kafka.HeaderErrorClass: tt.class, kafka.HeaderAttempts: strconv.Itoa(tt.attempts),
				kafka.HeaderTimestamp: original.Timestamp.UTC().Format(time.RFC3339Nano),
			} {
				if got := members.Header(dead, key); got != want {
					t.Errorf("header %s = %q, want %q", key, got, want)
				}
			}
			if got := members.Header(dead, kafka.HeaderError); !strings.Contains(got, tt.text) {
				t.Errorf("header %s = %q, want it to say %q", kafka.HeaderError, got, tt.text)
			}
			if members.Header(dead, kafka.HeaderFirstFailure) == "" || members.Header(dead, kafka.HeaderLastFailure) == "" {
				t.Error("the times of failure are missing")
			}
			if got := members.Header(dead, kafka.HeaderStack); strings.Contains(got, "poison_test.go") != (tt.class == ClassPanic) {
				t.Errorf("header %s = %q of class %s", kafka.HeaderStack, got, tt.class)
			}
			if got := members.Header(end, "ce_id"); got != "end of bad-1" {
				t.Errorf("the failed end is %q", got)
			}
			if got := b.Metric("tributary_stage_dlq_records_total"); got != 1 {
				t.Errorf("dlq_records_total = %v, want 1", got)
			}
		})
	}
}

// The dead letter and the failed end are acknowledged before the offset moves.
func TestPoisonIsAcknowledgedFirst(t *testing.T) {
	for _, topic := range []string{kafka.DLQName(prefix, inTopic, "work"), kafka.TopicName(prefix, endT)} {
		t.Run(topic, func(t *testing.T) {
			b := newBench(t, 1)
			b.Produce(members.Message("bad", 1))
			refuse := b.refuse(topic)
			b.start(funcs{fail: quarantine, work: func(context.Context, Input) error { panic("boom") }}, nil)
			members.Eventually(t, "the broker has refused", func() bool { return refuse.times.Load() > 2 })
			if at, _ := b.committed("test.work", 0); at > 0 {
				t.Errorf("offset %d was committed without the acknowledgement", at)
			}
			refuse.on.Store(false)
			members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
		})
	}
}

// The failed end that others act on comes after the letter: once they have, a
// repeat of the record may be dropped, and nobody would write it.
func TestTheLetterIsWrittenBeforeTheEnd(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("bad", 1))
	refuse := b.refuse(kafka.DLQName(prefix, inTopic, "work"))
	b.start(funcs{fail: quarantine, work: func(context.Context, Input) error { panic("boom") }}, nil)
	members.Eventually(t, "the broker has refused the letter", func() bool { return refuse.times.Load() > 2 })
	if n := b.End(kafka.TopicName(prefix, endT), 0); n > 0 {
		t.Errorf("%d ends are written before the letter", n)
	}
	refuse.on.Store(false)
	members.Eventually(t, "the end follows", func() bool { return b.End(kafka.TopicName(prefix, endT), 0) == 1 })
}

// refusal makes the broker refuse what is produced to one topic.
type refusal struct {
	on    atomic.Bool
	times atomic.Int32
}

func (b *bench) refuse(topic string) *refusal {
	r := &refusal{}
	r.on.Store(true)
	id := b.InMemory().TopicInfo(topic).TopicID
	b.Cluster.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.Cluster.KeepControl()
		req := kreq.(*kmsg.ProduceRequest)
		if !r.on.Load() {
			return nil, nil, false
		}
		for _, t := range req.Topics {
			if t.Topic == topic || t.TopicID == id {
				r.times.Add(1)
				return refused(req), nil, true
			}
		}
		return nil, nil, false
	})
	return r
}

// refused answers that no replica was there, which is tried again.
func refused(req *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, 19 // NOT_ENOUGH_REPLICAS
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func TestUndecodableIsPoisonAtOnce(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceRaw(&kgo.Record{Topic: kafka.TopicName(prefix, inTopic), Key: []byte{0xff, 0}, Value: []byte("hello"),
		Headers: []kgo.RecordHeader{{Key: "theirs", Value: []byte{1, 2}}}})
	b.start(funcs{
		work: func(context.Context, Input) error { t.Error("work was asked for"); return nil },
		fail: func(schemas.Message, error) []schemas.Message { t.Error("an end was asked for"); return nil },
	}, nil)
	dead := b.Read(kafka.DLQName(prefix, inTopic, "work"), 1)[0]
	if !bytes.Equal(dead.Key, []byte{0xff, 0}) || string(dead.Value) != "hello" || members.Header(dead, "theirs") != "\x01\x02" {
		t.Errorf("the dead letter is not the original: %v", dead)
	}
	if got := members.Header(dead, kafka.HeaderErrorClass); got != ClassUndecodable {
		t.Errorf("class %q, want %q", got, ClassUndecodable)
	}
	members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
}

// A record as large as its topic accepts, which no compression makes smaller,
// fits into a dead letter together with its story.
func TestTheLargestRecordIsSetAside(t *testing.T) {
	b := newBench(t, 1)
	dlq := kafka.DLQName(prefix, inTopic, "work")
	limit := strconv.Itoa(kafka.MaxDeadLetterBatch) // as package topics makes it
	if _, err := kadm.NewClient(b.Client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}, dlq); err != nil {
		t.Fatal(err)
	}
	const overhead = 100 // of a batch with one record
	value := make([]byte, kafka.MaxBatch-overhead)
	rand.NewChaCha8([32]byte{}).Read(value)
	other := b.NewClient(kgo.ProducerBatchMaxBytes(kafka.MaxBatch))
	if err := other.ProduceSync(t.Context(), &kgo.Record{Topic: kafka.TopicName(prefix, inTopic), Value: value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.start(funcs{}, nil)
	members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	if dead := b.Read(dlq, 1)[0]; !bytes.Equal(dead.Value, value) {
		t.Error("the dead letter's value is not the original")
	}
}

func TestUnknownSchemaStopsThePartition(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("before", 1))
	b.ProduceRaw(&kgo.Record{Topic: kafka.TopicName(prefix, inTopic), Key: []byte("newer"), Value: []byte{0, 0, 0, 0x7f, 0xff, 1}})
	b.Produce(members.Message("after", 2))
	var j journal
	stop := b.start(funcs{work: func(_ context.Context, in Input) error { j.note(in.Message); return nil }}, nil)
	members.Eventually(t, "the partition is reported", func() bool { return b.Metric("tributary_stage_blocked") == 1 })
	members.Eventually(t, "what came before is committed", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	b.Produce(members.Message("later", 3))
	stop()
	if at, _ := b.committed("test.work", 0); at != 1 {
		t.Errorf("committed %d, want 1: the record waits for an upgrade", at)
	}
	if len(j.keys["after"])+len(j.keys["later"]) != 0 {
		t.Errorf("worked on what comes after the unknown record: %v", j.keys)
	}
	if b.Metric("tributary_stage_blocked") != 0 {
		t.Error("the partition is still reported after it was given up")
	}
	if end := b.End(kafka.TopicName(prefix, inTopic), 0); end != 4 {
		t.Errorf("the log ends at %d, want 4", end)
	}
	if end := b.End(kafka.DLQName(prefix, inTopic, "work"), 0); end != 0 {
		t.Error("it was dead-lettered")
	}
}

// A record that nobody can read holds its partition until a person decides about
// it: then it is a dead letter that says so, and what comes after is worked on.
func TestAPassedOverRecordIsADeadLetter(t *testing.T) {
	b := newBench(t, 1)
	foreign := []byte{0, 0, 0, 0x7f, 0xff, 1}
	var decided atomic.Bool
	b.Codec = b.Codec.PassingOver(func(value []byte) error {
		if !decided.Load() || !bytes.Equal(value, foreign) {
			return nil
		}
		return fmt.Errorf("%w by ann: line noise", schemas.ErrPassedOver)
	})
	b.Produce(members.Message("before", 1))
	b.ProduceRaw(&kgo.Record{Topic: kafka.TopicName(prefix, inTopic), Key: []byte("newer"), Value: foreign})
	b.Produce(members.Message("after", 2))
	var j journal
	b.start(funcs{work: func(_ context.Context, in Input) error { j.note(in.Message); return nil }}, nil)
	members.Eventually(t, "the partition is reported", func() bool { return b.Metric("tributary_stage_blocked") == 1 })
	b.Produce(members.Message("later", 3))
	decided.Store(true)
	members.Eventually(t, "all is committed", func() bool { at, _ := b.committed("test.work", 0); return at == 4 })
	if len(j.keys["before"]) != 1 || len(j.keys["after"]) != 1 || len(j.keys["later"]) != 1 {
		t.Errorf("worked on %v", j.keys)
	}
	if got := b.Metric("tributary_stage_blocked"); got != 0 {
		t.Errorf("the partition is still reported: %v", got)
	}
	dead := b.Read(kafka.DLQName(prefix, inTopic, "work"), 1)[0]
	if why := members.Header(dead, kafka.HeaderError); !bytes.Equal(dead.Value, foreign) || why != "passed over by ann: line noise" {
		t.Errorf("the dead letter %x says %q", dead.Value, why)
	}
}
