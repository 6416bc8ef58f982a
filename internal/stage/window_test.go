package stage

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/kafka"
)

// A slow record delays only what is beyond the window.
func TestFullWindowPausesThePartition(t *testing.T) {
	b := newBench(t, 1)
	const total, window = 100, 10
	b.produce(message("slow", 0))
	for n := 1; n < total; n++ {
		b.produce(message(fmt.Sprint("key", n), n))
	}
	release := make(chan struct{})
	var done atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		if in.Message.Key == "slow" {
			<-release
		}
		done.Add(1)
		return in.Emit(ctx, echo(in.Message))
	}}, func(c *Config) { c.Window = window })
	eventually(t, "the window's other records are done", func() bool { return done.Load() >= window-1 })
	b.read(kafka.TopicName(prefix, outT), window-1) // and nothing more follows while we read
	if n := done.Load(); n > 2*window {
		t.Errorf("%d records were taken while the first was not done, want no more than %d", n, 2*window)
	}
	if at, _ := b.committed("test.work", 0); at > 0 {
		t.Errorf("committed %d though the first record is not done", at)
	}
	close(release)
	eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == total })
}

// Parallelism is a limit, and it is reached.
func TestParallelism(t *testing.T) {
	b := newBench(t, 3)
	for n := range 60 {
		b.produce(message(fmt.Sprint("key", n), n))
	}
	var running, most atomic.Int32
	full := make(chan struct{})
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		n := running.Add(1)
		defer running.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		if n == 3 {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full
		return in.Emit(ctx, echo(in.Message))
	}}, func(c *Config) { c.Parallelism = 3 })
	b.read(kafka.TopicName(prefix, outT), 60)
	if most.Load() != 3 {
		t.Errorf("%d records were worked on at once, want 3", most.Load())
	}
}

// Who waits for acknowledgements takes no place among those who work, but his
// key waits with him.
func TestWaitingForTheBrokerHoldsNobodyUp(t *testing.T) {
	b := newBench(t, 1)
	refuse := b.refuse(kafka.TopicName(prefix, outT))
	b.produce(message("a", 1), message("a", 2), message("b", 1), message("c", 1))
	var j journal
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		j.note(in.Message)
		return in.Emit(ctx, echo(in.Message))
	}}, func(c *Config) { c.Parallelism = 1 })
	eventually(t, "the other keys are worked on", func() bool { return j.total() == 3 })
	if got := j.count("a"); got != 1 {
		t.Errorf("%d records of the first key were begun before the first was done", got)
	}
	refuse.on.Store(false)
	eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == 4 })
}

// A topic may be created after those who read and write it have started.
func TestTopicsCreatedLater(t *testing.T) {
	b := newBench(t, 1)
	const late = "late"
	cfg := Config{Name: "work", Prefix: late, Topic: inTopic}
	r := NewRunner(cfg, b.factory(), b.codec, funcs{work: func(ctx context.Context, in Input) error {
		return in.Emit(ctx, echo(in.Message))
	}}, testLogger(t), b.metrics)
	running(t, r.Run)
	<-r.started
	admin := kadm.NewClient(b.client)
	for _, topic := range []string{inTopic, outT} {
		if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, kafka.TopicName(late, topic)); err != nil {
			t.Fatal(err)
		}
		rec, err := b.codec.Encode(message("a", 1))
		if err != nil {
			t.Fatal(err)
		}
		if topic == inTopic {
			b.produceRaw(kafka.ToKgo(late, rec))
		}
	}
	b.read(kafka.TopicName(late, outT), 1)
}

func TestStopLetsWorkEnd(t *testing.T) {
	b := newBench(t, 1)
	b.produce(message("a", 1), message("b", 2))
	began, stopping := make(chan struct{}, 2), make(chan struct{})
	stop := b.start(funcs{work: func(ctx context.Context, in Input) error {
		began <- struct{}{}
		<-stopping
		return in.Emit(ctx, echo(in.Message))
	}}, func(c *Config) { c.Parallelism = 1 })
	<-began
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) })
	stop()
	if at, _ := b.committed("test.work", 0); at != 1 {
		t.Errorf("committed %d, want 1: what ran when the stop came, and no more", at)
	}
	if g := b.metric("tributary_stage_in_flight"); g != 0 {
		t.Errorf("%v records in flight after the stop", g)
	}
}

// A broker that is away keeps nobody from stopping.
func TestStopWithoutABroker(t *testing.T) {
	b := newBench(t, 1)
	var l line
	b.produce(message("a", 1))
	worked := make(chan struct{})
	stop := b.start(funcs{work: func(context.Context, Input) error { close(worked); return nil }}, nil, l.opts()...)
	<-worked
	l.cut()
	stop()

	stop = b.start(funcs{}, nil, l.opts()...) // never connects
	stop()
}

func TestManyRunnersShareMetrics(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	for _, name := range []string{"one", "two"} {
		NewRunner(Config{Name: name, Prefix: prefix}, nil, nil, nil, testLogger(t), m)
	}
}
