package stage

import (
	"context"
	"testing"
	"time"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// A commit that was begun before a partition was lost must not be sent after
// it: the next owner may have committed more, or less, and counts.
func TestALateCommitIsNotSent(t *testing.T) {
	b := newBench(t, 1)
	const total = 3
	for n := range total {
		b.Produce(members.Message("key", n))
	}
	cfg := Config{Name: "work", Prefix: prefix, Topic: inTopic, CommitInterval: time.Hour, Grace: 5 * time.Second}
	work := func(ctx context.Context, in Input) error { return in.Emit(ctx, members.Echo(in.Message)) }
	r := NewRunner(cfg, b.Factory(), b.Codec, funcs{work: work}, members.Logger(t), b.Metrics)
	stop := members.Running(t, r.Run)
	var late []*partition
	members.Eventually(t, "all is done and not committed", func() bool {
		late = r.owned()
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(late) == 1 && late[0].next == total
	})
	if at, _ := b.committed("test.work", 0); at > 0 {
		t.Fatalf("offset %d is committed before its time", at)
	}
	r.lost(t.Context(), r.client, map[string][]int32{kafka.TopicName(prefix, inTopic): {0}})
	r.commit(t.Context(), late)
	stop()
	if at, _ := b.committed("test.work", 0); at > 0 {
		t.Errorf("offset %d of a lost partition was committed", at)
	}
}
