package sink

import (
	"context"
	"fmt"
	"testing"

	"tributary/internal/kafka"
	"tributary/test/members"
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

// A topic that was deleted and made anew, with more records than were read of
// the old one: nothing in the offsets tells, but its id does.
func TestApplierStopsAtATopicMadeAnew(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("running=%t", running), func(t *testing.T) {
			b := newBench(t, 1)
			in := kafka.TopicName(prefix, inTopic)
			b.ProduceKeys(1, 0, 5)
			s := newKeeper()
			stop := b.apply(s, nil)
			members.Eventually(t, "all is applied", s.has(5))
			if !running {
				stop()
			}
			b.Anew(1, in)
			b.ProduceKeys(1, 5, 25)
			if !running {
				b.apply(s, nil)
			}
			members.Eventually(t, "the partition is reported", func() bool { return b.Metric("tributary_stage_blocked") == 1 })
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
			b.ProduceKeys(2, 0, 5)
			s := &restarter{keeper: newKeeper()}
			stop := b.apply(s, nil)
			members.Eventually(t, "all is applied", s.has(10))
			if !running {
				stop()
			}
			b.Anew(2, kafka.TopicName(prefix, inTopic))
			b.ProduceKeys(2, 5, 25)
			if !running {
				b.apply(s, nil)
			}
			members.Eventually(t, "the new topic is applied", s.has(50))
			s.wantOnce(t, 2, 25)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.restarts != 1 {
				t.Errorf("%d restarts, want 1", s.restarts)
			}
		})
	}
}
