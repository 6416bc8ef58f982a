package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/tracker"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
)

// logEnds are where the partitions of the event log end.
func (a *app) logEnds(ctx context.Context, client *kgo.Client) ([]kafka.Span, error) {
	return kafka.Bounds(ctx, kadm.NewClient(client), kafka.TopicName(a.cfg.Kafka.TopicPrefix, schemas.StatusChangedTopic))
}

// trackerRead tells whether the tracker has read up to the log's ends.
func (a *app) trackerRead(ctx context.Context, client *kgo.Client) (bool, error) {
	offsets := pg.Offsets{Schema: "tracker", Group: kafka.GroupName(a.cfg.Kafka.TopicPrefix, tracker.Name)}
	return a.readUp(ctx, client, tracker.Name, func(partition int32) (int64, error) {
		return offsets.Load(ctx, a.stores.Tracker, schemas.StatusChangedTopic, partition)
	})
}

// readUp tells whether a projection, which has read each partition of the event log up to an
// offset, has read all of it. It is an error where one has read more than there is.
func (a *app) readUp(ctx context.Context, client *kgo.Client, reader string, position func(partition int32) (int64, error)) (bool, error) {
	ends, err := a.logEnds(ctx, client)
	if err != nil {
		return false, err
	}
	for _, end := range ends {
		at, err := position(end.Partition)
		if err != nil || at < end.To {
			return false, err
		}
		if at > end.To {
			if err := a.notCut(ctx, client, reader, end.Partition, at); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// notCut is an error where a projection has read a partition beyond its end, which is looked
// up again, since there may have come more meanwhile.
func (a *app) notCut(ctx context.Context, client *kgo.Client, reader string, partition int32, at int64) error {
	ends, err := a.logEnds(ctx, client)
	if err != nil {
		return err
	}
	for _, end := range ends {
		if end.Partition == partition && end.To < at {
			return fmt.Errorf("the %s has read partition %d of %s up to offset %d, but the log ends at %d: it was cut, or restored from an older backup; restore the topic, or rebuild the %[1]s", reader, partition, end.Topic, at, end.To)
		}
	}
	return nil
}
