package stage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/members"
)

// aside is a message that nobody needs, to a topic that the work's outputs don't go
// to.
func aside(m schemas.Message) schemas.Message {
	return schemas.Message{ID: m.ID, Topic: members.EndTopic, Key: m.Key, Body: &schemas.UnzipFinished{}}
}

// What is told is no output: while the broker does not take it, work ends and its
// offset is committed, and what the buffer has no room for is dropped at once.
func TestWhatIsToldHoldsUpNothing(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("key", 1))
	refuse := b.refuse(kafka.TopicName(prefix, endT))
	var full, settled atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		if err := in.EmitAcknowledged(ctx, members.Echo(in.Message)); err != nil {
			return err
		}
		for range 8 { // more than the client buffers
			in.Tell(aside(in.Message), func(err error) {
				settled.Add(1)
				if errors.Is(err, kgo.ErrMaxBuffered) {
					full.Add(1)
				}
			})
		}
		return nil
	}}, nil, kgo.MaxBufferedRecords(5))
	members.Eventually(t, "the broker has refused what was told", func() bool { return refuse.times.Load() > 2 })
	members.Eventually(t, "the offset moves all the same", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	members.Eventually(t, "what has no room is dropped", func() bool { return full.Load() == 3 })
	if n := settled.Load(); n != 3 {
		t.Errorf("%d are settled while the broker refuses all, want the 3 that were dropped", n)
	}
	refuse.on.Store(false)
	members.Eventually(t, "what was told is settled", func() bool { return settled.Load() == 8 })
	if n := b.End(kafka.TopicName(prefix, endT), 0); n != 5 {
		t.Errorf("the log has %d of those told, want 5", n)
	}
}

// What is told and refused for good is dropped, and the work goes on: what it
// emits afterwards is its outcome.
func TestWhatIsToldAndRefusedFailsNothing(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("key", 1))
	topic := kafka.TopicName(prefix, endT)
	id := b.InMemory().TopicInfo(topic).TopicID
	b.Cluster.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.Cluster.KeepControl()
		req := kreq.(*kmsg.ProduceRequest)
		for _, t := range req.Topics {
			if t.Topic == topic || t.TopicID == id {
				resp := refused(req)
				resp.Topics[0].Partitions[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
				return resp, nil, true
			}
		}
		return nil, nil, false
	})
	var attempts atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		attempts.Add(1)
		became := make(chan error, 1)
		in.Tell(aside(in.Message), func(err error) { became <- err })
		select {
		case err := <-became:
			if err == nil {
				t.Error("what the broker refused is said to be taken")
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		return in.EmitAcknowledged(ctx, members.Echo(in.Message))
	}}, nil)
	members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	if n := attempts.Load(); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// What work that was left behind tells after the attempt has ended is dropped.
func TestNothingIsToldAfterTheEnd(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("key", 1))
	tell := make(chan func(schemas.Message, func(error)), 1)
	b.start(funcs{work: func(_ context.Context, in Input) error {
		tell <- in.Tell
		return nil
	}}, nil)
	members.Eventually(t, "the work is done", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	var late error
	(<-tell)(aside(members.Message("key", 1)), func(err error) { late = err })
	if !errors.Is(late, errTooLate) {
		t.Errorf("it is told: %v", late)
	}
}
