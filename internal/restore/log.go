package restore

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// each reads a topic's partitions, from their beginning to where they end now,
// and decodes every record. Those of one key come in their order.
func (r *Restorer) each(ctx context.Context, topic string, take func(m schemas.Message, record schemas.Record) error) error {
	name := kafka.TopicName(r.Prefix, topic)
	client, err := r.Connect()
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where %s begins: %w", topic, err)
	}
	ends, err := admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where %s ends: %w", topic, err)
	}
	left, at := map[int32]int64{}, map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if start, _ := starts.Lookup(name, o.Partition); start.Offset < o.Offset {
			left[o.Partition], at[o.Partition] = o.Offset, kgo.NewOffset().At(start.Offset)
		}
	})
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{name: at})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			k := iter.Next()
			end, wanted := left[k.Partition]
			if !wanted {
				continue
			}
			if k.Offset+1 >= end {
				delete(left, k.Partition)
			}
			if k.Offset >= end {
				continue
			}
			record := kafka.FromKgo(k)
			m, err := r.Codec.Decode(record)
			if err != nil {
				return fmt.Errorf("%s, partition %d, offset %d: %w", topic, k.Partition, k.Offset, err)
			}
			if err := take(m, record); err != nil {
				return err
			}
		}
	}
	return nil
}
