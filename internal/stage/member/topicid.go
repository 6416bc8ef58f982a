package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TopicIDs asks the broker for the ids of topics. Brokers before Kafka 2.8 have
// none; their topics are left out.
func TopicIDs(ctx context.Context, client *kgo.Client, names []string) (map[string][16]byte, error) {
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

// Rejoin makes a client read the topics that were deleted and made anew, which
// it does not do by itself: it says UNKNOWN_TOPIC_ID for ever. Their partitions
// are assigned again. Rebalances must be allowed.
func Rejoin(client *kgo.Client, errs []kgo.FetchError) {
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
