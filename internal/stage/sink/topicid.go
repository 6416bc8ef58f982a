package sink

import (
	"context"

	"tributary/internal/stage/member"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TopicStore is a Store that keeps, beside its positions, the ids of the topics
// that they belong to. A topic that was deleted and made anew has another id,
// and its offsets are others. Sinks without it stop at what offsets show: a log
// that ends before the stored position.
type TopicStore interface {
	Store

	// TopicID returns the id of the topic that the stored positions belong
	// to. If none is stored yet, it stores the given one.
	TopicID(ctx context.Context, topic string, id [16]byte) (stored [16]byte, err error)
}

// Restarter is a TopicStore for which a topic is but a way for work that would
// come again if it got lost: one that was made anew is read from its beginning.
// Of any other, the partitions stand still, as what is gone was the record.
type Restarter interface {
	TopicStore

	// StartOver forgets the positions in a topic and stores its new id, if the
	// stored one is still from.
	StartOver(ctx context.Context, topic string, from, to [16]byte) error
}

// anew compares the topics just assigned with those that the stored positions
// belong to, and returns those that were made anew and stand still. It waits
// for broker and store, until the group moves on.
func (a *Applier) anew(ctx context.Context, which map[string]map[int32]kgo.Offset) (map[string]bool, error) {
	store, ok := a.store.(TopicStore)
	if !ok || len(which) == 0 {
		return nil, nil
	}
	names := make([]string, 0, len(which))
	for t := range which {
		names = append(names, t)
	}
	for n := 1; ; n++ {
		still, err := a.compare(ctx, store, names)
		if err == nil {
			return still, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.beginning.Is(err)
		a.warn("cannot tell whether topics are still the same; trying again", err)
		a.pause(ctx, n)
	}
}

func (a *Applier) compare(ctx context.Context, store TopicStore, names []string) (map[string]bool, error) {
	ids, err := member.TopicIDs(ctx, a.client, names)
	if err != nil {
		return nil, err
	}
	still := map[string]bool{}
	for topic, id := range ids {
		stored, err := store.TopicID(ctx, a.logical[topic], id)
		if err != nil {
			return nil, err
		}
		if stored == id {
			continue
		}
		args := []any{"topic", topic, "id", kadm.TopicID(id).String(), "read_before", kadm.TopicID(stored).String()}
		restarter, ok := store.(Restarter)
		if !ok {
			still[topic] = true
			a.log.Error("the topic was deleted and made anew: what its offsets meant is gone. Its partitions stand still; "+
				"restore the topic, or rebuild this projection", args...)
			continue
		}
		a.log.Error("the topic was deleted and made anew: it is read from its beginning. What was lost with the old one "+
			"is requested again when it has been silent for its budget", args...)
		if err := restarter.StartOver(ctx, a.logical[topic], stored, id); err != nil {
			return nil, err
		}
	}
	return still, nil
}
