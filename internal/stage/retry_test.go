package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/members"
)

func TestTransientIsRetriedForEver(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("key", 1))
	var attempts atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		if attempts.Add(1) <= 40 {
			return fmt.Errorf("store: %w", Transient(errors.New("server is away")))
		}
		return in.Emit(ctx, members.Echo(in.Message))
	}}, nil)
	b.Read(kafka.TopicName(prefix, outT), 1)
	if got := attempts.Load(); got != 41 {
		t.Errorf("%d attempts, want 41", got)
	}
}

// Failures in other words are no sign of poison.
func TestOtherWordsAreRetried(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("key", 1))
	var attempts atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		if n := attempts.Add(1); n <= 40 {
			return fmt.Errorf("failure %d", n/9)
		}
		return in.Emit(ctx, members.Echo(in.Message))
	}}, nil)
	b.Read(kafka.TopicName(prefix, outT), 1)
}

// A record that waits to be tried again takes nobody's place.
func TestRetryHoldsNobodyUp(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("sick", 1), members.Message("sick", 2))
	for n := range 20 {
		b.Produce(members.Message("well", n))
	}
	stop := b.start(funcs{work: func(ctx context.Context, in Input) error {
		if in.Message.Key == "sick" {
			return Transient(errors.New("not now"))
		}
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Parallelism, c.Backoff, c.BackoffMax = 1, time.Hour, time.Hour })
	b.Read(kafka.TopicName(prefix, outT), 20)
	stop()
	if at, _ := b.committed("test.work", 0); at != 0 {
		t.Errorf("committed %d, want 0: the first record is not done", at)
	}
}

// What was emitted must be acknowledged before the record counts as done, and
// time spent waiting for the broker is no stall.
func TestOutputsAreAcknowledgedFirst(t *testing.T) {
	const stall = time.Minute
	inVirtualTime(t, 1, func(t *testing.T, b *bench) {
		b.put(0, members.Message("key", 1))
		refuse := b.refuse(kafka.TopicName(prefix, outT))
		var attempts atomic.Int32
		b.start(funcs{work: func(ctx context.Context, in Input) error {
			attempts.Add(1)
			for range 20 { // more than the client buffers
				if err := in.Emit(ctx, members.Echo(in.Message)); err != nil {
					return err
				}
			}
			return nil
		}}, func(c *Config) { c.Stall = stall }, kgo.ServerSideBalancer(), kgo.MaxBufferedRecords(5))
		time.Sleep(3 * stall)
		if refuse.times.Load() == 0 {
			t.Error("the broker has refused nothing")
		}
		if at, _ := b.committed("test.work", 0); at > 0 {
			t.Errorf("offset %d was committed without the acknowledgement", at)
		}
		refuse.on.Store(false)
		members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
		if n := attempts.Load(); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}

// What must be acknowledged before work goes on is, and waiting for the broker
// is no stall.
func TestEmitAcknowledgedWaits(t *testing.T) {
	const stall = time.Minute
	inVirtualTime(t, 1, func(t *testing.T, b *bench) {
		b.put(0, members.Message("key", 1))
		refuse := b.refuse(kafka.TopicName(prefix, outT))
		var attempts, returned atomic.Int32
		b.start(funcs{work: func(ctx context.Context, in Input) error {
			attempts.Add(1)
			defer returned.Add(1)
			return in.EmitAcknowledged(ctx, members.Echo(in.Message), members.Echo(in.Message))
		}}, func(c *Config) { c.Stall = stall }, kgo.ServerSideBalancer())
		time.Sleep(3 * stall)
		if refuse.times.Load() == 0 {
			t.Error("the broker has refused nothing")
		}
		if n := returned.Load(); n > 0 {
			t.Error("it returns before the acknowledgement")
		}
		refuse.on.Store(false)
		members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
		if n := attempts.Load(); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}
