package sink

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// commits counts the commits that a client sends.
type commits struct{ atomic.Int32 }

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (c *commits) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == kmsg.OffsetCommit.Int16() {
		c.Add(1)
	}
}

var _ kgo.HookBrokerWrite = (*commits)(nil)

// Positions are committed to the group where they have moved, and not again.
func TestWhatHasNotMovedIsNotCommitted(t *testing.T) {
	b := newBench(t, 1)
	for n := range 5 {
		b.Produce(members.Message("key", n))
	}
	var sent commits
	var clock atomic.Int64 // by which it is time to commit whenever it is looked at
	now := func() time.Time { return time.Unix(clock.Add(int64(groupCommitInterval/time.Second)), 0) }
	stop := b.apply(&store{}, func(c *Config) { c.Now = now }, kgo.WithHooks(&sent))
	members.Eventually(t, "the position is committed", func() bool {
		o, ok := b.Committed(kafka.GroupName(prefix, "sink"), 0)
		return ok && o.At == 5
	})
	// The broker has it before the member knows that it does.
	before, looks := sent.Load(), clock.Load()
	members.Eventually(t, "it is looked again", func() bool { return clock.Load() > looks })
	stop()
	if n := sent.Load(); before == 0 || n != before {
		t.Errorf("%d commits, %d of them after the last position was committed", n, n-before)
	}
}
