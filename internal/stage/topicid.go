package stage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TopicSink is a Sink that keeps, beside its positions, the ids of the topics
// that they belong to. A topic that was deleted and made anew has another id,
// and its offsets are others. Sinks without it stop at what offsets show: a log
// that ends before the stored position.
type TopicSink interface {
	Sink

	// TopicID returns the id of the topic that the stored positions belong
	// to. If none is stored yet, it stores the given one.
	TopicID(ctx context.Context, topic string, id [16]byte) (stored [16]byte, err error)
}

// Restarter is a TopicSink for which a topic is but a way for work that would
// come again if it got lost: one that was made anew is read from its beginning.
// Of any other, the partitions stand still, as what is gone was the record.
type Restarter interface {
	TopicSink

	// StartOver forgets the positions in a topic and stores its new id, if the
	// stored one is still from.
	StartOver(ctx context.Context, topic string, from, to [16]byte) error
}

// anew compares the topics just assigned with those that the stored positions
// belong to, and returns those that were made anew and stand still. It waits
// for broker and store, until the group moves on.
func (a *Applier) anew(ctx context.Context, which map[string]map[int32]kgo.Offset) (map[string]bool, error) {
	sink, ok := a.sink.(TopicSink)
	if !ok || len(which) == 0 {
		return nil, nil
	}
	names := make([]string, 0, len(which))
	for t := range which {
		names = append(names, t)
	}
	for n := 1; ; n++ {
		still, err := a.compare(ctx, sink, names)
		if err == nil {
			return still, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.warn("cannot tell whether topics are still the same; trying again", err)
		a.pause(ctx, n)
	}
}

func (a *Applier) compare(ctx context.Context, sink TopicSink, names []string) (map[string]bool, error) {
	ids, err := topicIDs(ctx, a.client, names)
	if err != nil {
		return nil, err
	}
	still := map[string]bool{}
	for topic, id := range ids {
		stored, err := sink.TopicID(ctx, a.logical[topic], id)
		if err != nil {
			return nil, err
		}
		if stored == id {
			continue
		}
		args := []any{"topic", topic, "id", kadm.TopicID(id).String(), "read_before", kadm.TopicID(stored).String()}
		restarter, ok := sink.(Restarter)
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

// metadata is what a Runner keeps beside the group's offset.
type metadata struct {
	mark
	Topic string `json:"topic,omitempty"` // the id of the topic that the offset belongs to
}

// besideOffset writes metadata; empty when there is nothing to say.
func besideOffset(m mark, topic string) string {
	if m == (mark{}) && topic == "" {
		return ""
	}
	text, err := json.Marshal(metadata{m, topic})
	if err != nil {
		return "" // three numbers and a name always marshal
	}
	return base64.StdEncoding.EncodeToString(text)
}

// topicBeside is the id of the topic that an offset belongs to, as its metadata
// says.
func topicBeside(text *string) string {
	var m metadata
	if text == nil {
		return ""
	}
	if b, err := base64.StdEncoding.DecodeString(*text); err != nil || json.Unmarshal(b, &m) != nil {
		return ""
	}
	return m.Topic
}

// from replaces the group's offsets of partitions just assigned by the
// beginning, if they are those of a topic that is gone: Apache Kafka forgets
// them with the topic, other brokers don't. It waits for the broker, until the
// group moves on.
func (r *Runner) from(ctx context.Context, which map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	<-r.started
	var ids map[string][16]byte
	for n := 1; ; n++ {
		var err error
		if ids, err = topicIDs(ctx, r.client, slices.Collect(maps.Keys(which))); err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.warn("cannot tell whether the topic is still the same; trying again", err)
		r.sleep(ctx, reconnects().Jittered(n))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for topic, partitions := range which {
		id, ok := ids[topic]
		if !ok {
			continue
		}
		for n := range partitions {
			p := r.partitions[n]
			if p == nil {
				continue
			}
			// Others in hand may still be those of the topic that is gone: their
			// offsets must not be taken for the new one's.
			p.topicID = kadm.TopicID(id).String()
			if p.of == "" || p.of == p.topicID {
				continue
			}
			r.log.Error("the topic was deleted and made anew: it is read from its beginning. What was lost with the old one "+
				"is requested again when it has been silent for its budget", "topic", topic, "partition", n, "id", p.topicID, "read_before", p.of)
			partitions[n] = kgo.NewOffset().AtStart()
			p.found, p.mark, p.storedMark, p.careful = mark{}, mark{}, mark{}, false
		}
	}
	return which, nil
}

// topicIDs asks the broker for the ids of topics. Brokers before Kafka 2.8 have
// none; their topics are left out.
func topicIDs(ctx context.Context, client *kgo.Client, names []string) (map[string][16]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// What the client remembers may be the topic that is gone. Asking for
	// authorized operations is the way around its memory.
	topics, err := kadm.NewClient(client).ListTopics(kadm.WithAuthorizedOps(ctx), names...)
	if err != nil {
		return nil, err
	}
	out := map[string][16]byte{}
	for _, name := range names {
		t := topics[name]
		if t.Err != nil {
			return nil, fmt.Errorf("topic %s: %w", name, t.Err)
		}
		if t.ID != (kadm.TopicID{}) {
			out[name] = t.ID
		}
	}
	return out, nil
}

// rejoin makes a client read the topics that were deleted and made anew, which
// it does not do by itself: it says UNKNOWN_TOPIC_ID for ever. Their partitions
// are assigned again. Rebalances must be allowed.
func rejoin(client *kgo.Client, errs []kgo.FetchError) {
	var names []string
	for _, e := range errs {
		if errors.Is(e.Err, kerr.UnknownTopicID) && !slices.Contains(names, e.Topic) {
			names = append(names, e.Topic)
		}
	}
	if len(names) > 0 {
		client.PurgeTopicsFromConsuming(names...)
		client.AddConsumeTopics(names...)
	}
}
