package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// longWork detaches the records of some keys at once, and ends them when told to.
type longWork struct {
	long    func(key string) bool
	release chan struct{} // closed: long work ends well
	detach  atomic.Int32  // how often it succeeded
	begun   sync.Map      // by id
	journal journal
	ends    func(ctx context.Context, in Input) error // after the release; nil: well
}

func (w *longWork) work(ctx context.Context, in Input) error {
	w.journal.note(in.Message)
	if !w.long(in.Message.Key) {
		return in.Emit(ctx, members.Echo(in.Message))
	}
	stopping, ok := in.Detach()
	if ok {
		w.detach.Add(1)
	}
	w.begun.Store(in.Message.ID, ok)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-stopping:
		return in.Emit(ctx, members.Echo(in.Message))
	case <-w.release:
	}
	if w.ends != nil {
		return w.ends(ctx, in)
	}
	return in.Emit(ctx, members.Echo(in.Message))
}

func newLongWork() *longWork {
	return &longWork{long: func(key string) bool { return key == "slow" }, release: make(chan struct{})}
}

// A record whose work takes for ever holds up none of its partition, also beyond
// the window: their offsets are committed past it, it takes no place among those
// worked on, and its own end is still produced.
func TestDetachedWorkHoldsUpNobody(t *testing.T) {
	b := newBench(t, 1)
	const total, window = 100, 10
	b.Produce(members.Message("slow", 0))
	for n := 1; n < total; n++ {
		b.Produce(members.Message(fmt.Sprint("key", n), n))
	}
	w := newLongWork()
	b.start(funcs{work: w.work}, func(c *Config) { c.Window, c.Parallelism, c.Detached = window, 1, 1 })
	members.Eventually(t, "the offset is committed past all records, while the first is worked on", func() bool {
		at, _ := b.committed("test.work", 0)
		return at == total
	})
	if n := b.End(kafka.TopicName(prefix, outT), 0); n != total-1 {
		t.Errorf("%d records have their output, want %d", n, total-1)
	}
	if n := b.Metric("tributary_stage_detached_work"); n != 1 {
		t.Errorf("%v records are detached, want 1", n)
	}
	close(w.release)
	members.Eventually(t, "the slow one has its output", func() bool { return b.End(kafka.TopicName(prefix, outT), 0) == total })
	members.Eventually(t, "nothing is detached", func() bool { return b.Metric("tributary_stage_detached_work") == 0 })
}

// While as many are detached as are allowed, a further one stays in its
// partition, and holds it up.
func TestDetachedWorkIsBounded(t *testing.T) {
	b := newBench(t, 1)
	w := newLongWork()
	w.long = func(key string) bool { return key != "good" }
	b.Produce(members.Message("slow1", 1), members.Message("slow2", 2))
	b.start(funcs{work: w.work}, func(c *Config) { c.Parallelism, c.Detached = 2, 2 })
	members.Eventually(t, "two are detached", func() bool { return w.detach.Load() == 2 })
	b.Produce(members.Message("slow3", 3), members.Message("good", 4))
	members.Eventually(t, "the last is done", func() bool { return w.journal.count("good") == 1 })
	members.Eventually(t, "the third is worked on", func() bool { return w.journal.count("slow3") == 1 })
	if at, _ := b.committed("test.work", 0); at > 2 || w.detach.Load() != 2 {
		t.Errorf("%d are detached, and %d is committed, want 2 and no more than 2", w.detach.Load(), at)
	}
	close(w.release)
	members.Eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == 4 })
}

// What asks again for what is being worked on is dropped, as long as it is: it
// neither runs beside it nor holds up the partition.
func TestRepeatsOfDetachedWorkAreDropped(t *testing.T) {
	b := newBench(t, 1)
	w := newLongWork()
	b.Produce(members.Message("slow", 1))
	b.start(funcs{work: w.work}, func(c *Config) { c.Detached = 2 })
	members.Eventually(t, "it is detached", func() bool { return w.detach.Load() == 1 })
	b.Produce(members.Message("slow", 2), members.Message("good", 3))
	members.Eventually(t, "the repeat is passed", func() bool { at, _ := b.committed("test.work", 0); return at == 3 })
	if n := w.journal.count("slow"); n != 1 {
		t.Errorf("work of the key was begun %d times", n)
	}
	close(w.release)
	members.Eventually(t, "nothing is detached", func() bool { return b.Metric("tributary_stage_detached_work") == 0 })
	b.Produce(members.Message("slow", 4))
	members.Eventually(t, "what comes later is worked on", func() bool { return w.journal.count("slow") == 2 })
}

// A process that stops lets detached work give back what it has not done, within
// the grace period, and its outputs are acknowledged.
func TestAStopLetsDetachedWorkGiveBack(t *testing.T) {
	b := newBench(t, 1)
	w := newLongWork()
	b.Produce(members.Message("slow", 1))
	stop := b.start(funcs{work: w.work}, func(c *Config) { c.Detached = 1 })
	members.Eventually(t, "it is detached", func() bool { return w.detach.Load() == 1 })
	stop()
	if n := b.End(kafka.TopicName(prefix, outT), 0); n != 1 {
		t.Errorf("%d outputs, want what is given back", n)
	}
}

// Detached work goes on when its partition goes to another member, which does
// not begin it again.
func TestDetachedWorkOutlivesItsPartition(t *testing.T) {
	const keys = 8
	b := newBench(t, 2)
	w, other := newLongWork(), newLongWork()
	w.long = func(key string) bool { return strings.HasPrefix(key, "slow") }
	other.long = w.long
	for n := range keys {
		b.Produce(members.Message(fmt.Sprint("slow", n), n))
	}
	member := func(w *longWork) {
		b.start(funcs{work: w.work}, func(c *Config) { c.Parallelism, c.Detached = keys, keys })
	}
	committed := func() int64 {
		first, _ := b.committed("test.work", 0)
		second, _ := b.committed("test.work", 1)
		return max(first, 0) + max(second, 0)
	}
	member(w)
	members.Eventually(t, "all are detached, and passed", func() bool { return w.detach.Load() == keys && committed() == keys })
	member(other)
	n := keys
	members.Eventually(t, "a partition has moved", func() bool {
		b.Produce(members.Message(fmt.Sprint("good", n), n))
		n++
		return other.journal.total() > 0
	})
	close(w.release)
	b.Outputs(n)
	if n := other.detach.Load(); n != 0 {
		t.Errorf("the next owner began %d again", n)
	}
}

// In virtual time: detached work that fails is tried again with its history, so
// that it is set aside after as many strikes as any other.
func TestDetachedWorkThatPanicsIsPoison(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, b *bench) {
		w := newLongWork()
		close(w.release)
		w.ends = func(context.Context, Input) error { panic("at the end") }
		b.put(0, members.Message("slow", 1))
		b.start(funcs{work: w.work}, func(c *Config) { c.Detached, c.Backoff, c.BackoffMax = 1, time.Second, time.Minute })
		time.Sleep(10 * time.Minute)
		if n := b.End(kafka.DLQName(prefix, inTopic, "work"), 0); n != 1 || w.journal.count("slow") != 3 {
			t.Errorf("after %d attempts %d dead letters, want 1 after 3", w.journal.count("slow"), n)
		}
		if n := b.Metric("tributary_stage_detached_work"); n != 0 {
			t.Errorf("%v records are detached", n)
		}
	})
}

// Transient failures of detached work are tried again, and who is left behind by
// a stall detaches nothing any more.
func TestDetachedWorkIsTriedAgain(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, b *bench) {
		w := newLongWork()
		close(w.release)
		w.ends = func(ctx context.Context, in Input) error {
			if w.journal.count("slow") < 5 {
				return Transient(errors.New("not yet"))
			}
			return in.Emit(ctx, members.Echo(in.Message))
		}
		b.put(0, members.Message("slow", 1))
		b.start(funcs{work: w.work}, func(c *Config) { c.Detached = 1 }, kgo.ServerSideBalancer())
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := b.End(kafka.TopicName(prefix, outT), 0); n != 1 || w.journal.count("slow") != 5 {
			t.Errorf("after %d attempts %d outputs, want 1 after 5", w.journal.count("slow"), n)
		}
	})
}
