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
	"tributary/internal/stage/member"
	"tributary/test/members"
)

// A slow record delays only what is beyond the window.
func TestFullWindowPausesThePartition(t *testing.T) {
	b := newBench(t, 1)
	const total, window = 100, 10
	b.Produce(members.Message("slow", 0))
	for n := 1; n < total; n++ {
		b.Produce(members.Message(fmt.Sprint("key", n), n))
	}
	release := make(chan struct{})
	var done atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		if in.Message.Key == "slow" {
			<-release
		}
		done.Add(1)
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Window = window })
	members.Eventually(t, "the window's other records are done", func() bool { return done.Load() >= window-1 })
	b.Read(kafka.TopicName(prefix, outT), window-1) // and nothing more follows while we read
	if n := done.Load(); n > 2*window {
		t.Errorf("%d records were taken while the first was not done, want no more than %d", n, 2*window)
	}
	if at, _ := b.committed("test.work", 0); at > 0 {
		t.Errorf("committed %d though the first record is not done", at)
	}
	close(release)
	members.Eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == total })
}

// Parallelism is a limit, and it is reached.
func TestParallelism(t *testing.T) {
	b := newBench(t, 3)
	for n := range 60 {
		b.Produce(members.Message(fmt.Sprint("key", n), n))
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
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Parallelism = 3 })
	b.Read(kafka.TopicName(prefix, outT), 60)
	if most.Load() != 3 {
		t.Errorf("%d records were worked on at once, want 3", most.Load())
	}
}

// Who waits for acknowledgements takes no place among those who work, but his
// key waits with him.
func TestWaitingForTheBrokerHoldsNobodyUp(t *testing.T) {
	b := newBench(t, 1)
	refuse := b.refuse(kafka.TopicName(prefix, outT))
	b.Produce(members.Message("a", 1), members.Message("a", 2), members.Message("b", 1), members.Message("c", 1))
	var j journal
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		j.note(in.Message)
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Parallelism = 1 })
	members.Eventually(t, "the other keys are worked on", func() bool { return j.total() == 3 })
	if got := j.count("a"); got != 1 {
		t.Errorf("%d records of the first key were begun before the first was done", got)
	}
	refuse.on.Store(false)
	members.Eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == 4 })
}

// A topic may be created after those who read and write it have started.
func TestTopicsCreatedLater(t *testing.T) {
	b := newBench(t, 1)
	const late = "late"
	cfg := Config{Name: "work", Prefix: late, Topic: inTopic}
	r := NewRunner(cfg, b.Factory(), b.Codec, funcs{work: func(ctx context.Context, in Input) error {
		return in.Emit(ctx, members.Echo(in.Message))
	}}, members.Logger(t), b.Metrics)
	members.Running(t, r.Run)
	<-r.started
	admin := kadm.NewClient(b.Client)
	for _, topic := range []string{inTopic, outT} {
		if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, kafka.TopicName(late, topic)); err != nil {
			t.Fatal(err)
		}
		rec, err := b.Codec.Encode(members.Message("a", 1))
		if err != nil {
			t.Fatal(err)
		}
		if topic == inTopic {
			b.ProduceRaw(kafka.ToKgo(late, rec))
		}
	}
	b.Read(kafka.TopicName(late, outT), 1)
}

func TestStopLetsWorkEnd(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("a", 1), members.Message("b", 2))
	began, stopping := make(chan struct{}, 2), make(chan struct{})
	stop := b.start(funcs{work: func(ctx context.Context, in Input) error {
		began <- struct{}{}
		<-stopping
		return in.Emit(ctx, members.Echo(in.Message))
	}}, func(c *Config) { c.Parallelism = 1 })
	<-began
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) })
	stop()
	if at, _ := b.committed("test.work", 0); at != 1 {
		t.Errorf("committed %d, want 1: what ran when the stop came, and no more", at)
	}
	if g := b.Metric("tributary_stage_in_flight"); g != 0 {
		t.Errorf("%v records in flight after the stop", g)
	}
}

// A broker that is away keeps nobody from stopping.
func TestStopWithoutABroker(t *testing.T) {
	b := newBench(t, 1)
	var l members.Line
	b.Produce(members.Message("a", 1))
	worked := make(chan struct{})
	stop := b.start(funcs{work: func(context.Context, Input) error { close(worked); return nil }}, nil, l.Opts()...)
	<-worked
	l.Cut()
	stop()

	stop = b.start(funcs{}, nil, l.Opts()...) // never connects
	stop()
}

func TestManyRunnersShareMetrics(t *testing.T) {
	m := member.NewMetrics(prometheus.NewRegistry())
	for _, name := range []string{"one", "two"} {
		NewRunner(Config{Name: name, Prefix: prefix}, nil, nil, nil, members.Logger(t), m)
	}
}
