package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/pg"
	"tributary/schemas"
)

// labelled returns the value of a counter or gauge, or the count of a
// histogram, with the given label; -1 if there is none.
func (b *bench) labelled(name, label, value string) float64 {
	b.t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return -1
}

// What a member has in hand, how far it is behind, and since when, is told
// while it is so, also of a partition that is paused.
func TestMetricsOfAFullWindow(t *testing.T) {
	b := newBench(t, 1)
	const total, window = 50, 10
	for n := range total {
		b.produce(message(fmt.Sprint("key", n), n))
	}
	release := make(chan struct{})
	stop := b.start(funcs{work: func(context.Context, Input) error { <-release; return nil }}, func(c *Config) { c.Window = window })
	eventually(t, "the window is full", func() bool { return b.labelled("tributary_stage_window_records", "partition", "0") >= window })
	if lag := b.labelled("tributary_stage_lag_records", "partition", "0"); lag != total {
		t.Errorf("lag %v, want %d: nothing is finished", lag, total)
	}
	eventually(t, "the oldest record has been in hand for a while", func() bool { return b.metric("tributary_stage_oldest_record_seconds") > 0.01 })
	if n := b.metric("tributary_stage_partitions"); n != 1 {
		t.Errorf("%v partitions, want 1", n)
	}
	close(release)
	eventually(t, "nothing is behind", func() bool { return b.labelled("tributary_stage_lag_records", "partition", "0") == 0 })
	if n := b.metric("tributary_stage_window_records") + b.metric("tributary_stage_oldest_record_seconds"); n != 0 {
		t.Errorf("something is in hand after all was finished: %v", n)
	}
	eventually(t, "commits are timed", func() bool { return b.labelled("tributary_stage_commit_seconds", "stage", "work") > 0 })
	stop()
	if n := b.labelled("tributary_stage_window_records", "partition", "0"); n != -1 {
		t.Errorf("a partition is still reported after the stop: %v", n)
	}
}

// A member that finds nothing to do says that it is not behind, too.
func TestLagWithoutARecord(t *testing.T) {
	b := newBench(t, 1)
	b.produce(message("key", 1))
	work := funcs{work: func(context.Context, Input) error { return nil }}
	stop := b.start(work, nil)
	eventually(t, "all is committed", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	stop()
	b.start(work, nil)
	eventually(t, "the next member knows how far behind it is", func() bool { return b.labelled("tributary_stage_lag_records", "partition", "0") == 0 })
}

func TestErrorsAreCountedByKind(t *testing.T) {
	b := newBench(t, 1)
	failures := map[string]func() error{
		kindTransient: func() error { return Transient(errors.New("the server is away")) },
		kindFailed:    func() error { return errors.New("no such column") },
		kindPanic:     func() error { panic("boom") },
	}
	seen := map[string]*atomic.Int32{}
	for kind := range failures {
		seen[kind] = new(atomic.Int32)
		b.produce(message(kind, 1))
	}
	b.produce(message(kindRejected, 1))
	b.produce(message(kindPoison, 1))
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		key := in.Message.Key
		if key == kindPoison {
			panic("again and again")
		}
		if key == kindRejected {
			m := echo(in.Message)
			m.Body = &schemas.StatusChanged{Status: string(schemas.Failed)}
			return in.Emit(ctx, m)
		}
		if seen[key].Add(1) == 1 {
			return failures[key]()
		}
		return nil
	}}, nil)
	eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == 5 })
	for kind, want := range map[string]float64{kindTransient: 1, kindFailed: 1, kindPanic: 4, kindRejected: 1, kindPoison: 1} {
		if got := b.labelled("tributary_stage_errors_total", "kind", kind); got != want {
			t.Errorf("errors of kind %s: %v, want %v", kind, got, want)
		}
	}
}

func TestKindsOfASinksErrors(t *testing.T) {
	for want, err := range map[string]error{
		kindTransient: errors.New("database is away"),
		kindMoved:     fmt.Errorf("apply: %w", pg.ErrMoved),
		kindUnknown:   &RecordError{Err: schemas.ErrUnknownSchema},
	} {
		if got := kindOfSink(err); got != want {
			t.Errorf("kind of %v is %s, want %s", err, got, want)
		}
	}
}

// A rebalance counts where it changes a member's share.
func TestRebalancesAreCounted(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{"classic": nil, "consumer": {kgo.ServerSideBalancer()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 2)
			work := funcs{work: func(context.Context, Input) error { return nil }}
			b.start(work, nil, opts...)
			eventually(t, "the first member has all", func() bool { return b.metric("tributary_stage_partitions") == 2 })
			leave := b.start(work, nil, opts...)
			eventually(t, "the second member has its share", func() bool { return b.labelled("tributary_stage_rebalances_total", "event", "assigned") >= 2 })
			if n := b.labelled("tributary_stage_rebalances_total", "event", "revoked"); n != 1 {
				t.Errorf("%v revocations, want 1", n)
			}
			leave()
			eventually(t, "the first member has all again", func() bool { return b.metric("tributary_stage_partitions") == 2 })
			if n := b.labelled("tributary_stage_rebalances_total", "event", "assigned"); n < 3 {
				t.Errorf("%v assignments, want 3", n)
			}
		})
	}
}

// An applier tells what it has not applied yet.
func TestMetricsOfAnApplier(t *testing.T) {
	b := newBench(t, 1)
	for n := range 20 {
		b.produce(message("key", n))
	}
	release := make(chan struct{})
	a := NewApplier(ApplierConfig{Name: "sink", Prefix: prefix, Topics: []string{inTopic}}, b.factory(), &gated{release}, testLogger(t), b.metrics)
	running(t, a.Run)
	eventually(t, "a batch is being applied", func() bool { return b.metric("tributary_stage_window_records") == 20 })
	if lag := b.metric("tributary_stage_lag_records"); lag != 20 {
		t.Errorf("lag %v, want 20", lag)
	}
	eventually(t, "it has been so for a while", func() bool { return b.metric("tributary_stage_oldest_record_seconds") > 0.01 })
	close(release)
	eventually(t, "nothing is behind", func() bool {
		return b.metric("tributary_stage_lag_records") == 0 && b.metric("tributary_stage_window_records") == 0
	})
}

// gated is a Sink that waits.
type gated struct{ release chan struct{} }

func (g *gated) Position(context.Context, string, int32) (int64, error) { return 0, nil }

func (g *gated) Apply(ctx context.Context, _ []Range) error {
	select {
	case <-g.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
