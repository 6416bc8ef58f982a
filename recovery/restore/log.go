package restore

import (
	"context"
	"errors"
	"fmt"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// each reads a topic's partitions, from their beginning to where they end now,
// and decodes every record. Those of one key come in their order. What nobody can
// read, or is passed over, is left out, as everybody who reads the topic does;
// but not what only newer programs can read.
func (r *Restorer) each(ctx context.Context, topic string, take func(m schemas.Message, record schemas.Record) error) error {
	left := 0
	err := r.records(ctx, topic, func(partition int32, offset int64, record schemas.Record) error {
		m, err := r.Codec.Decode(record)
		switch {
		case errors.Is(err, schemas.ErrUnknownSchema):
			return fmt.Errorf("%s, partition %d, offset %d: %w; `tributary topics pass-over %s %d %d --dry-run` shows the ways on", topic, partition, offset, err, topic, partition, offset)
		case err != nil:
			if left++; left == 1 {
				r.Log.Warn("a record can't be read, or is passed over; it is left out, as all such records are", "topic", topic, "partition", partition, "offset", offset, "error", err)
			}
			return nil
		}
		return take(m, record)
	})
	if left > 0 && err == nil {
		r.Log.Warn("records were left out that can't be read, or are passed over", "topic", topic, "records", left)
	}
	return err
}

// order reads document.ordered by the rule of package chain. take gets what takes
// a position, but for its content if that doesn't count.
func (r *Restorer) order(ctx context.Context, log *chain.Log, take func(m schemas.Message, o *schemas.DocumentOrdered, outcome chain.Outcome)) error {
	return r.records(ctx, schemas.DocumentOrderedTopic, func(_ int32, offset int64, record schemas.Record) error {
		m, err := r.Codec.Decode(record)
		o, ok := m.Body.(*schemas.DocumentOrdered)
		if ok && !errors.Is(err, schemas.ErrPassedOver) {
			err = nil // of a header, which no digest covers
		}
		if !ok {
			o = &schemas.DocumentOrdered{}
			if err == nil {
				err = fmt.Errorf("holds an event of %s", m.Topic)
			}
		}
		l, head := chain.LinkOf(o, record.Value, offset), log.Head()
		if _, decided := head.About(l, r.Decided); err != nil && !decided {
			return fmt.Errorf("document.ordered at offset %d: %w; %s", offset, err, chain.WayOn(offset))
		}
		outcome := log.Judge(l)
		if outcome == chain.LeavesOut {
			return fmt.Errorf("document.ordered lacks the positions %d to %d: restore the topic first, since nothing else tells what was ordered; or %s", head.Last.Position+1, o.Position-1, chain.WayOn(offset))
		}
		if m.Time.IsZero() {
			m.Time = r.Now()
		}
		take(m, o, outcome)
		return nil
	})
}

// records reads a topic's partitions, from their beginning to where they end now.
func (r *Restorer) records(ctx context.Context, topic string, take func(partition int32, offset int64, record schemas.Record) error) error {
	reader := kafka.Reader{Connect: r.Connect}
	spans, err := reader.Bounds(ctx, kafka.TopicName(r.Prefix, topic))
	if err != nil {
		return err
	}
	return reader.Read(ctx, spans, func(c kafka.Chunk) error {
		for _, k := range c.Records {
			if err := take(k.Partition, k.Offset, kafka.FromKgo(k)); err != nil {
				return err
			}
		}
		return nil
	})
}
