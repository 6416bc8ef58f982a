package insert

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// told is what insert has told the world, by status.changed: a bit per position.
type told struct {
	documents, ends, operations bits
	quarantined                 map[int64]bool
}

// has says whether everything was told of a position that the order holds, up to
// the position last; there is nothing to tell of some.
func (t *told) has(ev *schemas.DocumentOrdered, last int64) bool {
	switch {
	case t == nil || ev.Position > last:
		return false
	case ev.What == schemas.PositionDocument && ev.Result == schemas.Valid:
		return t.documents.has(ev.Position)
	case ev.What == schemas.PositionBatchEnd:
		return t.ends.has(ev.Position)
	case ev.What == schemas.PositionUnload:
		return t.operations.has(ev.Position)
	}
	return true
}

// bits is a set of positions, an eighth of a byte each.
type bits []uint64

func (b *bits) add(n int64) {
	for int64(len(*b)) <= n/64 {
		*b = append(*b, make([]uint64, 1+len(*b)/2)...)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bits) has(n int64) bool { return n/64 < int64(len(b)) && b[n/64]&(1<<(n%64)) != 0 }

// readTold reads status.changed to its end for what insert has told of positions
// up to last.
func (in *Inserter) readTold(ctx context.Context, last int64) (*told, error) {
	t := &told{quarantined: map[int64]bool{}}
	err := in.readWhole(ctx, schemas.StatusChangedTopic, 0, func(r *kgo.Record) error {
		if !from(r, Stage) {
			return nil
		}
		m, err := in.d.Codec.Decode(kafka.FromKgo(r))
		if err != nil {
			return fmt.Errorf("status.changed, partition %d, offset %d: %w", r.Partition, r.Offset, err)
		}
		e, ok := m.Body.(*schemas.StatusChanged)
		if !ok || e.Position < 1 || e.Position > last {
			return nil
		}
		switch {
		case e.Entity == schemas.EntityBatch:
			t.ends.add(e.Position)
		case e.Entity == schemas.EntityFile:
			t.operations.add(e.Position)
		case e.Entity == schemas.EntityDocument && e.Phase == string(schemas.Upload):
			t.documents.add(e.Position)
			if e.Exception == quarantined {
				t.quarantined[e.Position] = true
			}
		}
		return nil
	})
	return t, err
}

// from tells whether a record was produced by a stage, without decoding it.
func from(r *kgo.Record, stage string) bool {
	for _, h := range r.Headers {
		if h.Key == "ce_source" {
			return string(h.Value) == "/tributary/"+stage
		}
	}
	return true
}

// lastOrdered is the position of the topic's last record; 0 if it has none.
func (in *Inserter) lastOrdered(ctx context.Context) (last int64, err error) {
	err = in.readWhole(ctx, schemas.DocumentOrderedTopic, 1, func(r *kgo.Record) error {
		it, err := in.decode(r)
		if err == nil {
			last = max(last, it.ev.Position)
		}
		return err
	})
	return last, err
}

// readWhole reads a topic's partitions to where they end now: the last so many
// records of each, or all if last is 0.
func (in *Inserter) readWhole(ctx context.Context, topic string, last int64, take func(*kgo.Record) error) error {
	name := kafka.TopicName(in.cfg.Prefix, topic)
	client, err := in.d.Connect()
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where %s ends: %w", topic, err)
	}
	starts, err := admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where %s begins: %w", topic, err)
	}
	left := map[int32]int64{} // where each partition ends
	at := map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(name, o.Partition)
		begin := start.Offset
		if last > 0 {
			begin = max(begin, o.Offset-last)
		}
		if begin < o.Offset {
			left[o.Partition], at[o.Partition] = o.Offset, kgo.NewOffset().At(begin)
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
			r := iter.Next()
			end, wanted := left[r.Partition]
			if !wanted {
				continue
			}
			if r.Offset < end {
				if err := take(r); err != nil {
					return err
				}
			}
			if r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		}
	}
	return nil
}
