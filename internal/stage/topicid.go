package stage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"tributary/internal/backoff"
	"tributary/internal/stage/member"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

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
		if ids, err = member.TopicIDs(ctx, r.client, slices.Collect(maps.Keys(which))); err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.warn("cannot tell whether the topic is still the same; trying again", err)
		_ = backoff.Sleep(ctx, member.Reconnects().Jittered(n))
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
