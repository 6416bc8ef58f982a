package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/members"
)

// What a member has in hand, how far it is behind, and since when, is told
// while it is so, also of a partition that is paused.
func TestMetricsOfAFullWindow(t *testing.T) {
	b := newBench(t, 1)
	const total, window = 50, 10
	for n := range total {
		b.Produce(members.Message(fmt.Sprint("key", n), n))
	}
	release := make(chan struct{})
	stop := b.start(funcs{work: func(context.Context, Input) error { <-release; return nil }}, func(c *Config) { c.Window = window })
	members.Eventually(t, "the window is full", func() bool { return b.Labelled("tributary_stage_window_records", "partition", "0") >= window })
	if lag := b.Labelled("tributary_stage_lag_records", "partition", "0"); lag != total {
		t.Errorf("lag %v, want %d: nothing is finished", lag, total)
	}
	members.Eventually(t, "the oldest record has been in hand for a while", func() bool { return b.Metric("tributary_stage_oldest_record_seconds") > 0.01 })
	if n := b.Metric("tributary_stage_partitions"); n != 1 {
		t.Errorf("%v partitions, want 1", n)
	}
	close(release)
	members.Eventually(t, "nothing is behind", func() bool { return b.Labelled("tributary_stage_lag_records", "partition", "0") == 0 })
	if n := b.Metric("tributary_stage_window_records") + b.Metric("tributary_stage_oldest_record_seconds"); n != 0 {
		t.Errorf("something is in hand after all was finished: %v", n)
	}
	members.Eventually(t, "commits are timed", func() bool { return b.Labelled("tributary_stage_commit_seconds", "stage", "work") > 0 })
	stop()
	if n := b.Labelled("tributary_stage_window_records", "partition", "0"); n != -1 {
		t.Errorf("a partition is still reported after the stop: %v", n)
	}
}

// A member that finds nothing to do says that it is not behind, too.
func TestLagWithoutARecord(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("key", 1))
	work := funcs{work: func(context.Context, Input) error { return nil }}
	stop := b.start(work, nil)
	members.Eventually(t, "all is committed", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	stop()
	b.start(work, nil)
	members.Eventually(t, "the next member knows how far behind it is", func() bool { return b.Labelled("tributary_stage_lag_records", "partition", "0") == 0 })
}

func TestErrorsAreCountedByKind(t *testing.T) {
	b := newBench(t, 1)
	failures := map[string]func() error{
		member.KindTransient: func() error { return Transient(errors.New("the server is away")) },
		member.KindFailed:    func() error { return errors.New("no such column") },
		member.KindPanic:     func() error { panic("boom") },
	}
	seen := map[string]*atomic.Int32{}
	for kind := range failures {
		seen[kind] = new(atomic.Int32)
		b.Produce(members.Message(kind, 1))
	}
	b.Produce(members.Message(member.KindRejected, 1))
	b.Produce(members.Message(member.KindPoison, 1))
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		key := in.Message.Key
		if key == member.KindPoison {
			panic("again and again")
		}
		if key == member.KindRejected {
			m := members.Echo(in.Message)
			m.Body = &schemas.StatusChanged{Status: string(schemas.Failed)}
			return in.Emit(ctx, m)
		}
		if seen[key].Add(1) == 1 {
			return failures[key]()
		}
		return nil
	}}, nil)
	members.Eventually(t, "all is done", func() bool { at, _ := b.committed("test.work", 0); return at == 5 })
	for kind, want := range map[string]float64{member.KindTransient: 1, member.KindFailed: 1, member.KindPanic: 4, member.KindRejected: 1, member.KindPoison: 1} {
		if got := b.Labelled("tributary_stage_errors_total", "kind", kind); got != want {
			t.Errorf("errors of kind %s: %v, want %v", kind, got, want)
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
			members.Eventually(t, "the first member has all", func() bool { return b.Metric("tributary_stage_partitions") == 2 })
			leave := b.start(work, nil, opts...)
			members.Eventually(t, "the second member has its share", func() bool { return b.Labelled("tributary_stage_rebalances_total", "event", "assigned") >= 2 })
			if n := b.Labelled("tributary_stage_rebalances_total", "event", "revoked"); n != 1 {
				t.Errorf("%v revocations, want 1", n)
			}
			leave()
			members.Eventually(t, "the first member has all again", func() bool { return b.Metric("tributary_stage_partitions") == 2 })
			if n := b.Labelled("tributary_stage_rebalances_total", "event", "assigned"); n < 3 {
				t.Errorf("%v assignments, want 3", n)
			}
		})
	}
}
