package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// reading is a Read under way.
type reading struct {
	reader *Reader
	client *kgo.Client
	open   map[place]*Span // what is left of the spans that have not ended
	take   func(Chunk) error

	passing error // what a broker said last that may pass
}

func (r *reading) all(ctx context.Context) error {
	silence := cmp.Or(r.reader.Silence, silence)
	deadline := time.Now().Add(silence)
	for len(r.open) > 0 {
		poll, cancel := context.WithTimeout(ctx, min(quiet, silence))
		fetches := r.client.PollRecords(poll, readRecords)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		moved, err := r.fetched(fetches)
		if err == nil && !moved {
			moved, err = r.probe(ctx)
		}
		if err != nil {
			return err
		}
		if moved {
			deadline = time.Now().Add(silence)
		} else if time.Now().After(deadline) {
			return r.silent(silence)
		}
	}
	return nil
}

// fetched takes what a poll has brought, and says whether anything came.
func (r *reading) fetched(fetches kgo.Fetches) (moved bool, err error) {
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		s := r.open[place{p.Topic, p.Partition}]
		if s == nil || err != nil {
			return
		}
		if len(p.Records) > 0 {
			moved, err = true, r.records(s, p.Records)
		}
		if err == nil && p.Err != nil {
			err = r.failed(s, p.Err)
		}
	})
	if err == nil && fetches.IsClientClosed() {
		err = fmt.Errorf("read the log: %w", kgo.ErrClientClosed)
	}
	return moved, err
}

// records gives what came of a span, up to its end.
func (r *reading) records(s *Span, records []*kgo.Record) error {
	c := Chunk{Span: *s, Deleted: -1}
	next := s.From
	for _, record := range records {
		if record.Offset < next {
			continue
		}
		if gap := min(record.Offset, s.To); gap > next && c.Deleted < 0 {
			c.Deleted = next
		}
		if record.Offset >= s.To {
			next = s.To
			break
		}
		next = record.Offset + 1
		if !record.Attrs.IsControl() {
			c.Records = append(c.Records, record)
		}
	}
	if next == s.From {
		return nil
	}
	return r.give(s, c, next)
}

// give gives a chunk that ends at next, and ends a span that ends there.
func (r *reading) give(s *Span, c Chunk, next int64) error {
	c.To, s.From = next, next
	if s.From >= s.To {
		r.close(s)
	}
	return r.take(c)
}

// close ends a span.
func (r *reading) close(s *Span) {
	delete(r.open, place{s.Topic, s.Partition})
	r.client.PauseFetchPartitions(map[string][]int32{s.Topic: {s.Partition}})
}

// failed is what a partition's error means: nil for one that may pass.
func (r *reading) failed(s *Span, err error) error {
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange) && r.reader.SkipDeleted:
		return nil // probe looks what is left
	case errors.Is(err, kerr.OffsetOutOfRange):
		return fmt.Errorf("%w: record %d of partition %d of %s is gone", ErrDeleted, s.From, s.Partition, s.Topic)
	case errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || !kerr.IsRetriable(err):
		return fmt.Errorf("read %s, partition %d, offset %d: %w", s.Topic, s.Partition, s.From, err)
	}
	r.passing = err
	return nil
}

// deleted fails, or ends a span of which nothing is left. Where something is left
// the client goes on there by itself.
func (r *reading) deleted(ctx context.Context, s *Span) (moved bool, err error) {
	if !r.reader.SkipDeleted {
		return false, fmt.Errorf("%w: record %d of partition %d of %s is gone", ErrDeleted, s.From, s.Partition, s.Topic)
	}
	bounds, err := Bounds(ctx, kadm.NewClient(r.client), s.Topic)
	if err != nil {
		return false, err
	}
	for _, b := range bounds {
		if b.Partition == s.Partition && b.From >= s.To {
			return true, r.give(s, Chunk{Span: *s, Deleted: s.From}, s.To)
		}
	}
	return false, nil
}

// silent names the first span of which nothing came.
func (r *reading) silent(waited time.Duration) error {
	var first *Span
	for _, s := range r.open {
		if first == nil || cmp.Or(cmp.Compare(s.Topic, first.Topic), cmp.Compare(s.Partition, first.Partition)) < 0 {
			first = s
		}
	}
	err := fmt.Errorf("%w: nothing of %s, partition %d, has come for %s, though the broker says that it has the offsets from %d to %d: look whether the broker is well, and try again",
		ErrSilent, first.Topic, first.Partition, waited, first.From, first.To-1)
	if r.passing != nil {
		err = fmt.Errorf("%w (it said last: %w)", err, r.passing)
	}
	return err
}
