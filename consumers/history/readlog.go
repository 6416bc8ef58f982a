package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
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
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, [16]byte{}, fmt.Errorf("the beginning of %s: %w", topic, err)
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, [16]byte{}, fmt.Errorf("the end of %s: %w", topic, err)
	}
	out := map[int32]interval{}
	for id, end := range ends[topic] {
		start, _ := starts.Lookup(topic, id)
		out[id] = interval{start.Offset, end.Offset}
	}
	return out, topics[topic].ID, nil
}

// fetchBytes bounds a fetch. It comes compressed, and takes many times as much
// memory as records.
const fetchBytes = 2 << 20

// readLog hands the records of intervals of a topic's partitions to each, in
// the order of each partition, until all are read or each fails. An interval
// may end in offsets that have no record.
func readLog(ctx context.Context, connect kafka.Factory, topic string, want map[int32]interval, each func(partition int32, records []*kgo.Record) error) error {
	from := map[int32]kgo.Offset{}
	for id, w := range want {
		if w.from < w.to {
			from[id] = kgo.NewOffset().At(w.from)
		}
	}
	if len(from) == 0 {
		return nil
	}
	client, err := connect(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.KeepControlRecords(), // else nobody knows that the last offsets have no record
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(fetchBytes), kgo.MaxConcurrentFetches(1),
	)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer client.Close()
	for len(from) > 0 {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range fetches.Errors() {
			if errors.Is(e.Err, kerr.OffsetOutOfRange) || errors.Is(e.Err, kerr.UnknownTopicID) || errors.Is(e.Err, kerr.UnknownTopicOrPartition) || errors.Is(e.Err, kgo.ErrClientClosed) {
				return fmt.Errorf("read the log %s/%d: %w", e.Topic, e.Partition, e.Err)
			}
		}
		var failed error
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if _, open := from[p.Partition]; !open || failed != nil || len(p.Records) == 0 {
				return
			}
			to := want[p.Partition].to
			var records []*kgo.Record
			for _, r := range p.Records {
				if r.Offset < to && !r.Attrs.IsControl() {
					records = append(records, r)
				}
			}
			if len(records) > 0 {
				failed = each(p.Partition, records)
			}
			if p.Records[len(p.Records)-1].Offset+1 >= to {
				delete(from, p.Partition)
				client.PauseFetchPartitions(map[string][]int32{topic: {p.Partition}})
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}
