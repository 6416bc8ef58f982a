package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
)

// keeper is a store that knows which topics its positions belong to.
type keeper struct {
	*store
	topics map[string][16]byte
}

func newKeeper() *keeper { return &keeper{store: &store{}, topics: map[string][16]byte{}} }

func (k *keeper) TopicID(_ context.Context, topic string, id [16]byte) ([16]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.topics[topic]; !ok {
		k.topics[topic] = id
	}
	return k.topics[topic], nil
}

// restarter is a keeper that begins anew.
type restarter struct {
	*keeper
	restarts int
}

func (r *restarter) StartOver(_ context.Context, topic string, from, to [16]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.topics[topic] == from {
		r.topics[topic] = to
		r.restarts++
		clear(r.positions)
	}
	return nil
}

// anew deletes a topic and makes another one of its name.
func (b *bench) anew(partitions int32, name string) {
	b.t.Helper()
	deleted, err := kadm.NewClient(b.client).DeleteTopics(context.Background(), name)
	if err = errors.Join(err, deleted.Error()); err != nil {
		b.t.Fatal(err)
	}
	b.create(partitions, name)
	b.client.PurgeTopicsFromClient(name)
}

// A topic that was deleted and made anew, with more records than were read of
// the old one: nothing in the offsets tells, but its id does.
func TestApplierStopsAtATopicMadeAnew(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("running=%t", running), func(t *testing.T) {
			b := newBench(t, 1)
			in := kafka.TopicName(prefix, inTopic)
			b.produceKeys(1, 0, 5)
			s := newKeeper()
			stop := b.apply(s, nil)
			eventually(t, "all is applied", s.has(5))
			if !running {
				stop()
			}
			b.anew(1, in)
			b.produceKeys(1, 5, 25)
			if !running {
				b.apply(s, nil)
			}
			eventually(t, "the partition is reported", func() bool { return b.metric("tributary_stage_blocked") == 1 })
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.ids) != 5 || s.positions[at(inTopic, 0)] != 5 {
				t.Errorf("the topic made anew was read at old offsets: %d records applied, want 5", len(s.ids))
			}
		})
	}
}

// What can do without the old topic reads the new one from its beginning.
func TestApplierStartsOverInATopicMadeAnew(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("running=%t", running), func(t *testing.T) {
			b := newBench(t, 2)
			b.produceKeys(2, 0, 5)
			s := &restarter{keeper: newKeeper()}
			stop := b.apply(s, nil)
			eventually(t, "all is applied", s.has(10))
			if !running {
				stop()
			}
			b.anew(2, kafka.TopicName(prefix, inTopic))
			b.produceKeys(2, 5, 25)
			if !running {
				b.apply(s, nil)
			}
			eventually(t, "the new topic is applied", s.has(50))
			s.wantOnce(t, 2, 25)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.restarts != 1 {
				t.Errorf("%d restarts, want 1", s.restarts)
			}
		})
	}
}

// A stage whose input and output are made anew while it runs goes on with the
// new ones.
func TestRunnerGoesOnInTopicsMadeAnew(t *testing.T) {
	for name, work := range map[string]func(context.Context, Input) error{
		"emits": func(ctx context.Context, in Input) error {
			return in.Emit(ctx, echo(in.Message))
		},
		"emits until it is refused": func(ctx context.Context, in Input) error {
			// What another topic acknowledges in between gives an earlier one
			// time to be refused.
			for range 50 {
				if err := in.Emit(ctx, echo(in.Message)); err != nil {
					return err
				}
				if err := in.EmitAcknowledged(ctx, quarantine(in.Message, nil)...); err != nil {
					return err
				}
			}
			return nil
		},
		"waits for the acknowledgement": func(ctx context.Context, in Input) error {
			return in.EmitAcknowledged(ctx, echo(in.Message))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 1)
			b.start(funcs{work: work}, func(c *Config) { c.MaxFailures = 2 })
			b.produce(message("a", 0), message("a", 1))
			eventually(t, "all of the old topic is done", func() bool { at, _ := b.committed("test.work", 0); return at == 2 })
			b.anew(1, kafka.TopicName(prefix, inTopic))
			b.anew(1, kafka.TopicName(prefix, outT))
			b.produce(message("a", 2), message("a", 3), message("a", 4))
			eventually(t, "all of the new topic is done", func() bool { at, _ := b.committed("test.work", 0); return at == 3 })
			var ids []string
			for _, r := range b.read(kafka.TopicName(prefix, outT), int(b.end(kafka.TopicName(prefix, outT), 0))) {
				ids = append(ids, header(r, "ce_id"))
			}
			ids = slices.Compact(ids)
			if want := []string{"a-2", "a-3", "a-4"}; !slices.Equal(ids, want) {
				t.Errorf("the new topic holds %v, want %v", ids, want)
			}
			if n := b.end(kafka.DLQName(prefix, inTopic, "work"), 0); n > 0 {
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
	r := NewRunner(cfg, b.factory(), b.codec, funcs{work: func(context.Context, Input) error { return nil }}, testLogger(t), b.metrics)
	running(t, r.Run)
	b.produceKeys(20, 0, 1)
	eventually(t, "both partitions are read", func() bool {
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
	offsets, err := kadm.NewClient(b.client).FetchOffsets(t.Context(), "test.work")
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
