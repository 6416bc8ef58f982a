package stage

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"tributary/test/members"

	"github.com/twmb/franz-go/pkg/kgo"
)

// While a record is being worked on, members join and leave, and what they get
// is done without waiting for it; it is finished in the end.
func TestASlowRecordDelaysNobodyInRebalances(t *testing.T) {
	const partitions, rounds = 4, 4
	b := newBench(t, partitions)
	b.Client = b.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	release := make(chan struct{})
	var done ends
	var begun atomic.Int32
	work := funcs{work: func(ctx context.Context, in Input) error {
		if in.Message.Key == "slow" {
			begun.Add(1)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-release:
			}
		}
		done.note(in.Message.ID)
		return in.Emit(ctx, members.Echo(in.Message))
	}}
	b.start(work, nil)
	b.put(0, members.Message("slow", 0))
	members.Eventually(t, "the slow record is worked on", func() bool { return begun.Load() == 1 })
	// Who joins is given its share before it leaves: where a static member ends in the
	// middle of a rebalance, the broker in memory may leave the others' joins unanswered
	// until their clients give up.
	var joined atomic.Int32
	joiner := funcs{work: func(ctx context.Context, in Input) error {
		joined.Add(1)
		return work.work(ctx, in)
	}}
	more := 0
	var leave func()
	for round := range rounds {
		if leave == nil {
			before := joined.Load()
			leave = b.start(joiner, nil)
			members.Eventually(t, "who has joined has work", func() bool {
				for p := int32(1); p < partitions; p++ { // not behind the slow one, where there is room for few
					b.put(p, members.Message(fmt.Sprint("more", more), int(p)))
				}
				more++
				return joined.Load() > before
			})
		} else {
			leave()
			leave = nil
		}
		for p := range int32(partitions) {
			b.put(p, members.Message(fmt.Sprintf("other%d-%d", round, p), 0))
		}
		for p := range int32(partitions) {
			members.Eventually(t, "the others are done", func() bool { _, ok := done.get(fmt.Sprintf("other%d-%d-0", round, p)); return ok })
		}
	}
	if _, ok := done.get("slow-0"); ok {
		t.Fatal("the slow record was done before its time")
	}
	close(release)
	members.Eventually(t, "all is committed", func() bool { at, _ := b.committed("test.work", 0); return at == 1+rounds })
	if n := begun.Load(); n > 1+rounds {
		t.Errorf("the slow record was begun %d times in %d rebalances", n, rounds)
	}
}
