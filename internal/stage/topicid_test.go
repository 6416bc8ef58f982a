package stage

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// A stage whose input and output are made anew while it runs goes on with the
// new ones.
func TestRunnerGoesOnInTopicsMadeAnew(t *testing.T) {
	for name, work := range map[string]func(context.Context, Input) error{
		"emits": func(ctx context.Context, in Input) error {
			return in.Emit(ctx, members.Echo(in.Message))
		},
		"emits until it is refused": func(ctx context.Context, in Input) error {
			// What another topic acknowledges in between gives an earlier one
			// time to be refused.
			for range 50 {
				if err := in.Emit(ctx, members.Echo(in.Message)); err != nil {
					return err
				}
				if err := in.EmitAcknowledged(ctx, quarantine(in.Message, nil)...); err != nil {
					return err
				}
			}
			return nil
		},
		"waits for the acknowledgement": func(ctx context.Context, in Input) error {
			return in.EmitAcknowledged(ctx, members.Echo(in.Message))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 1)
			b.start(funcs{work: work}, func(c *Config) { c.MaxFailures = 2 })
			b.Produce(members.Message("a", 0), members.Message("a", 1))
			members.Eventually(t, "all of the old topic is done", func() bool { at, _ := b.committed("test.work", 0); return at == 2 })
			b.Anew(1, kafka.TopicName(prefix, inTopic))
			b.Anew(1, kafka.TopicName(prefix, outT))
			b.Produce(members.Message("a", 2), members.Message("a", 3), members.Message("a", 4))
			members.Eventually(t, "all of the new topic is done", func() bool { at, _ := b.committed("test.work", 0); return at == 3 })
			var ids []string
			for _, r := range b.Read(kafka.TopicName(prefix, outT), int(b.End(kafka.TopicName(prefix, outT), 0))) {
				ids = append(ids, members.Header(r, "ce_id"))
			}
			ids = slices.Compact(ids)
			if want := []string{"a-2", "a-3", "a-4"}; !slices.Equal(ids, want) {
				t.Errorf("the new topic holds %v, want %v", ids, want)
			}
			if n := b.End(kafka.DLQName(prefix, inTopic, "work"), 0); n > 0 {
				t.Errorf("%d records were set aside", n)
			}
		})
	}
}

// A member that holds a partition of a topic that is gone, and gets another of
// the topic made anew, commits each with the id of its own topic.
func TestOffsetsGoWithTheTopicTheyWereReadFrom(t *testing.T) {
	b := newBench(t, 2)
	in := kafka.TopicName(prefix, inTopic)
	cfg := Config{Name: "work", Prefix: prefix, Topic: inTopic, CommitInterval: time.Hour, Grace: 5 * time.Second}
	r := NewRunner(cfg, b.Factory(), b.Codec, funcs{work: func(context.Context, Input) error { return nil }}, members.Logger(t), b.Metrics)
	members.Running(t, r.Run)
	b.ProduceKeys(20, 0, 1)
	members.Eventually(t, "both partitions are read", func() bool {
		n := 0
		for _, p := range r.owned() {
			r.mu.Lock()
			if p.next > 0 && p.topicID != "" {
				n++
			}
			r.mu.Unlock()
		}
		return n == 2
	})
	r.mu.Lock()
	id := r.partitions[1].topicID
	r.partitions[0].topicID = "of the topic that is gone"
	r.mu.Unlock()
	if _, err := r.from(t.Context(), map[string]map[int32]kgo.Offset{in: {1: kgo.NewOffset()}}); err != nil {
		t.Fatal(err)
	}
	r.commit(t.Context(), r.owned())
	offsets, err := kadm.NewClient(b.Client).FetchOffsets(t.Context(), "test.work")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"of the topic that is gone", id} {
		o, _ := offsets.Lookup(in, int32(n))
		if got := topicBeside(&o.Metadata); got != want {
			t.Errorf("partition %d: offset %d of topic %q, want %q", n, o.At, got, want)
		}
	}
}
