package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// probe asks the brokers once whether what is left of the open spans holds
// records at all. The client passes over batches that compaction has emptied
// without telling how far it has come, so from nothing alone nobody can tell an
// end from a pause. What can't be asked now is asked again; a broker that is
// never well is silent.
func (r *reading) probe(ctx context.Context) (moved bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*quiet)
	defer cancel()
	for _, s := range r.list() {
		next, err := r.next(ctx, *s)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			gone, err := r.deleted(ctx, s)
			if moved = moved || gone; err != nil {
				return moved, err
			}
		case err != nil:
			r.passing = err
		case next >= s.To:
			moved = true
			if err := r.give(s, Chunk{Span: *s, Deleted: s.From}, s.To); err != nil {
				return moved, err
			}
		}
	}
	return moved, nil
}

// list are the open spans; closing one does not disturb whoever goes through it.
func (r *reading) list() []*Span {
	out := make([]*Span, 0, len(r.open))
	for _, s := range r.open {
		out = append(out, s)
	}
	return out
}

// next is the first offset from a span's From on that the broker has a record or
// a marker for, or the span's To if it has none before that. What the broker
// does not say now is the From.
func (r *reading) next(ctx context.Context, s Span) (int64, error) {
	leader, id, err := r.leader(ctx, s)
	if err != nil {
		return 0, err
	}
	for at := s.From; at < s.To; {
		batches, err := r.fetch(ctx, leader, id, s, at)
		if err != nil {
			return 0, err
		}
		b, found := pass(batches, at)
		switch {
		case !found && b.first <= at:
			return s.From, nil // it gives nothing, and says nothing of why
		case !found:
			at = b.first
		case b.first >= at:
			return min(b.first, s.To), nil
		default:
			held, err := r.within(ctx, s, b.first, at)
			if err != nil || held {
				return at, err
			}
			at = b.last + 1
		}
	}
	return s.To, nil
}

// within tells whether the batch that begins at first holds a record from at on:
// compaction leaves a batch its last offset when it takes the record there.
func (r *reading) within(ctx context.Context, s Span, first, at int64) (bool, error) {
	client, err := r.reader.Connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.Topic: {s.Partition: kgo.NewOffset().At(first)}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(), kgo.FetchMaxBytes(readBytes), kgo.FetchMaxPartitionBytes(readBytes))
	if err != nil {
		return false, err
	}
	defer client.Close()
	fetches := client.PollFetches(ctx) // what is fetched at once has the batch whole
	if err := fetches.Err(); err != nil {
		return false, err
	}
	for _, record := range fetches.Records() {
		if record.Offset >= at {
			return true, nil
		}
	}
	return false, nil
}

// Where things stand in a batch as it is fetched.
const (
	batchLength  = 8  // of what follows it
	batchPrefix  = 12 // bytes that the length does not count
	batchMagic   = 16
	batchDelta   = 23 // from its first offset to its last
	batchRecords = 57 // how many
	batchHeader  = 61
)

// batch is which offsets a batch of records stands for.
type batch struct{ first, last int64 }

// pass passes over the batches that end before an offset or hold nothing, and
// returns the first that remains, which may be cut off; if there is none, found
// is false and the rest begins at the batch's first. No batch is unpacked for it.
func pass(batches []byte, at int64) (b batch, found bool) {
	for len(batches) >= batchHeader {
		b.first = int64(binary.BigEndian.Uint64(batches)) //nolint:gosec // as it is in the protocol
		length := batchPrefix + int64(int32(binary.BigEndian.Uint32(batches[batchLength:])))
		b.last = b.first + int64(int32(binary.BigEndian.Uint32(batches[batchDelta:])))
		if batches[batchMagic] < 2 || length < batchHeader {
			return batch{max(at, b.first), b.first}, true // written by a client of another age; it is looked at as records
		}
		if b.last >= at {
			if binary.BigEndian.Uint32(batches[batchRecords:]) != 0 {
				return b, true
			}
			at = b.last + 1
		}
		if length > int64(len(batches)) {
			break
		}
		batches = batches[length:]
	}
	return batch{first: at}, false
}

// leader asks who leads a span's partition, and for its topic's id.
func (r *reading) leader(ctx context.Context, s Span) (int32, [16]byte, error) {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(s.Topic)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, r.client)
	if err != nil {
		return 0, [16]byte{}, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.Partition == s.Partition {
				return p.Leader, t.TopicID, kerr.ErrorForCode(p.ErrorCode)
			}
		}
	}
	return 0, [16]byte{}, fmt.Errorf("no broker knows %s, partition %d", s.Topic, s.Partition)
}

// fetch fetches what stands at an offset, without waiting.
func (r *reading) fetch(ctx context.Context, leader int32, id [16]byte, s Span, at int64) ([]byte, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 0, readBytes, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = s.Topic, id
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = s.Partition, at, readBytes
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, r.client.Broker(int(leader)))
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.Partition == s.Partition {
				return p.RecordBatches, kerr.ErrorForCode(p.ErrorCode)
			}
		}
	}
	return nil, fmt.Errorf("the broker said nothing of %s, partition %d", s.Topic, s.Partition)
}
