package history

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
)

// interval is what the log has of a partition: the offsets that begin with from
// and end before to.
type interval struct{ from, to int64 }

// logIntervals asks the brokers how far each partition of a topic goes, and for
// the topic's id; that is zero where brokers have none.
func logIntervals(ctx context.Context, client *kgo.Client, topic string) (map[int32]interval, [16]byte, error) {
	admin := kadm.NewClient(client)
	// Asking for authorized operations is the way around what the client
	// remembers of a topic that is gone.
	topics, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx), topic)
	if err == nil {
		err = topics[topic].Err
	}
	if err != nil {
		return nil, [16]byte{}, fmt.Errorf("the topic %s: %w", topic, err)
	}
	spans, err := kafka.Bounds(ctx, admin, topic)
	if err != nil {
		return nil, [16]byte{}, err
	}
	out := map[int32]interval{}
	for _, s := range spans {
		out[s.Partition] = interval{s.From, s.To}
	}
	return out, topics[topic].ID, nil
}

// readLog hands the records of intervals of a topic's partitions to each, in
// the order of each partition, until all are read or each fails. An interval
// may end in offsets that have no record.
func readLog(ctx context.Context, connect kafka.Factory, topic string, want map[int32]interval, each func(partition int32, records []*kgo.Record) error) error {
	var spans []kafka.Span
	for id, w := range want {
		spans = append(spans, kafka.Span{Topic: topic, Partition: id, From: w.from, To: w.to})
	}
	reader := kafka.Reader{Connect: connect}
	return reader.Read(ctx, spans, func(c kafka.Chunk) error {
		if len(c.Records) == 0 {
			return nil
		}
		return each(c.Partition, c.Records)
	})
}
