package sink

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tributary/internal/pg"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/members"
)

func TestKindsOfASinksErrors(t *testing.T) {
	for want, err := range map[string]error{
		member.KindTransient: errors.New("database is away"),
		member.KindMoved:     fmt.Errorf("apply: %w", pg.ErrMoved),
		member.KindUnknown:   &RecordError{Err: schemas.ErrUnknownSchema},
	} {
		if got := kindOf(err); got != want {
			t.Errorf("kind of %v is %s, want %s", err, got, want)
		}
	}
}

// An applier tells what it has not applied yet.
func TestMetricsOfAnApplier(t *testing.T) {
	b := newBench(t, 1)
	for n := range 20 {
		b.Produce(members.Message("key", n))
	}
	release := make(chan struct{})
	a := New(Config{Name: "sink", Prefix: prefix, Topics: []string{inTopic}}, b.Factory(), &gated{release}, members.Logger(t), b.Metrics)
	members.Running(t, a.Run)
	members.Eventually(t, "a batch is being applied", func() bool { return b.Metric("tributary_stage_window_records") == 20 })
	if lag := b.Metric("tributary_stage_lag_records"); lag != 20 {
		t.Errorf("lag %v, want 20", lag)
	}
	members.Eventually(t, "it has been so for a while", func() bool { return b.Metric("tributary_stage_oldest_record_seconds") > 0.01 })
	close(release)
	members.Eventually(t, "nothing is behind", func() bool {
		return b.Metric("tributary_stage_lag_records") == 0 && b.Metric("tributary_stage_window_records") == 0
	})
}

// gated is a Store that waits.
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
