package stage

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// A member that dies repeats no more than what it had in hand, and loses
// nothing.
func TestCrashRepeatsABoundedWindow(t *testing.T) {
	b := newBench(t, 1)
	const total, window = 200, 20
	for n := range total {
		b.Produce(members.Message(fmt.Sprint("key", n%5), n))
	}
	// The first member works until half is done, then dies.
	var first journal
	var l members.Line
	half := make(chan struct{})
	var once sync.Once
	stop := b.start(funcs{work: func(ctx context.Context, in Input) error {
		if first.total() >= total/2 {
			once.Do(func() { close(half) })
			<-ctx.Done()
			return ctx.Err()
		}
		first.note(in.Message)
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Window, c.Grace = window, 10*time.Millisecond }, l.Opts()...)
	<-half
	members.Eventually(t, "something is committed", func() bool { at, _ := b.committed("test.work", 0); return at > 0 })
	l.Cut()
	stop()

	// What the first sent last may come to the broker later than its end, but not after
	// the partition is another's.
	var second journal
	var assigned sync.Once
	begins, known := make(chan struct{}), make(chan struct{})
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		second.note(in.Message)
		assigned.Do(func() { close(begins) })
		select {
		case <-known:
		case <-ctx.Done():
			return ctx.Err()
		}
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Window = window })
	<-begins
	at, _ := b.committed("test.work", 0)
	close(known)
	members.Eventually(t, "the rest is done", func() bool { at, _ := b.committed("test.work", 0); return at == total })
	if got, want := second.total(), total-int(at); got != want {
		t.Errorf("the second member worked on %d records, want the %d that were not committed", got, want)
	}
	if repeated := first.total() + second.total() - total; repeated < 0 || repeated > 2*window {
		t.Errorf("%d records were repeated, want 0 to %d", repeated, 2*window)
	}
	seen := map[string]bool{}
	out := kafka.TopicName(prefix, outT)
	for _, r := range b.Read(out, int(b.End(out, 0))) {
		seen[members.Header(r, "ce_id")] = true
	}
	if len(seen) != total {
		t.Errorf("%d different outputs, want %d", len(seen), total)
	}
}

// Members die on one record again and again: it is told from its neighbours,
// which are done meanwhile, and set aside.
func TestKillerIsFoundAmongItsNeighbours(t *testing.T) {
	b := newBench(t, 1)
	for n := range 5 {
		b.Produce(members.Message(fmt.Sprint("before", n), n))
	}
	b.Produce(members.Message("killer", 5))
	for n := range 5 {
		b.Produce(members.Message(fmt.Sprint("after", n), n))
	}
	careful := func(c *Config) { c.MaxDeaths, c.Grace = 3, 10*time.Millisecond }

	deaths := 0
	for ; deaths < 20; deaths++ {
		var l members.Line
		dies := make(chan struct{})
		var once sync.Once
		var running, most atomic.Int32
		stop := b.start(funcs{fail: quarantine, work: func(ctx context.Context, in Input) error {
			now := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			if in.Message.Key == "killer" {
				once.Do(func() { close(dies) })
				<-ctx.Done()
			}
			return ctx.Err()
		}}, careful, l.Opts()...)
		over := make(chan struct{})
		go func() {
			defer close(over)
			for { // until the killer runs or all is committed
				select {
				case <-dies:
					return
				case <-time.After(10 * time.Millisecond):
				}
				if at, _ := b.committed("test.work", 0); at == 11 {
					return
				}
			}
		}()
		<-over
		_, m := b.committed("test.work", 0)
		at, _ := b.committed("test.work", 0)
		l.Cut()
		stop()
		if at == 11 {
			break
		}
		if m.Alone > 0 && most.Load() > 1 {
			t.Errorf("%d records ran at once though a record is suspected", most.Load())
		}
	}
	if deaths < 4 || deaths > 10 { // at least one in company, then as many alone as are allowed
		t.Errorf("the killer was set aside after %d deaths, want 4 to 10", deaths)
	}
	dead := b.Read(kafka.DLQName(prefix, inTopic, "work"), 1)
	if got := members.Header(dead[0], kafka.HeaderErrorClass); got != ClassCrashed || string(dead[0].Key) != "killer" {
		t.Errorf("dead letter %s of class %q, want the killer, %s", dead[0].Key, got, ClassCrashed)
	}
	if got := members.Header(dead[0], kafka.HeaderAttempts); got != "3" {
		t.Errorf("it was set aside after %s deaths alone, want 3", got)
	}
	if end := b.End(kafka.DLQName(prefix, inTopic, "work"), 0); end != 1 {
		t.Errorf("%d dead letters, want the killer alone", end)
	}
}

// A clean stop is no death, however often it interrupts a record.
func TestCleanStopClearsTheMark(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("slow", 1))
	for range 4 {
		began := make(chan struct{})
		stop := b.start(funcs{work: func(ctx context.Context, _ Input) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}}, func(c *Config) { c.Grace = 10 * time.Millisecond })
		<-began
		if _, m := b.committed("test.work", 0); m.Starts != 1 || m.Alone != 0 {
			t.Fatalf("while the record runs the mark is %+v, want one start", m)
		}
		stop()
		if at, m := b.committed("test.work", 0); at != 0 || m != (mark{}) {
			t.Fatalf("after a clean stop: offset %d, mark %+v; want 0 and none", at, m)
		}
	}
}

// Who is to be alone waits for those at work, and then keeps others out.
func TestIsolation(t *testing.T) {
	c := NewIsolation()
	first, _ := c.enter(t.Context(), false)
	second, _ := c.enter(t.Context(), false)
	alone := make(chan func())
	go func() {
		leave, _ := c.enter(t.Context(), true)
		alone <- leave
	}()
	first()
	select {
	case <-alone:
		t.Fatal("alone though one is at work")
	default:
	}
	second()
	leave := <-alone
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.enter(over, false); err == nil {
		t.Error("joined one who is alone")
	}
	leave()
	if _, err := c.enter(t.Context(), false); err != nil {
		t.Error(err)
	}
}

func TestMarkSurvivesItsMetadata(t *testing.T) {
	want := mark{Starts: 3, Alone: 1, Until: 1 << 40}
	text := besideOffset(want, "topic")
	if diff := cmp.Diff(want, parseMark(&text)); diff != "" {
		t.Error(diff)
	}
	for _, other := range []string{"", "kgo-member-1", "bm90IGpzb24="} {
		if got := parseMark(&other); got != (mark{}) {
			t.Errorf("parseMark(%q) = %+v, want none", other, got)
		}
	}
	if got := besideOffset(mark{}, ""); got != "" {
		t.Errorf("no mark is written as %q", got)
	}
}
