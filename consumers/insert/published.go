package insert

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/blob"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// published is what insert has published in status.changed: a bit per position.
type published struct {
	documents, ends, operations bits
	givenUp                     map[int64]string // exceptions of documents that can't be found out again
}

// has says whether everything was published of a position that the order holds, up to
// the position last; there is nothing to publish of some.
func (p *published) has(ev *schemas.DocumentOrdered, last int64) bool {
	switch {
	case p == nil || ev.Position > last:
		return false
	case ev.What == schemas.PositionDocument && ev.Result == schemas.Valid:
		return p.documents.has(ev.Position)
	case ev.What == schemas.PositionBatchEnd:
		return p.ends.has(ev.Position)
	case ev.What == schemas.PositionUnload:
		return p.operations.has(ev.Position)
	}
	return true
}

// bits is a set of positions, an eighth of a byte each. It is kept in blocks, as
// many positions may be lost between two.
type bits map[int64]*[blockBits / 64]uint64

const blockBits = 1 << 15

func (b *bits) add(n int64) {
	if *b == nil {
		*b = bits{}
	}
	block := (*b)[n/blockBits]
	if block == nil {
		block = new([blockBits / 64]uint64)
		(*b)[n/blockBits] = block
	}
	block[n%blockBits/64] |= 1 << (n % 64)
}

func (b bits) has(n int64) bool {
	block := b[n/blockBits]
	return block != nil && block[n%blockBits/64]&(1<<(n%64)) != 0
}

// readPublished reads status.changed to its end for what insert published of positions
// up to last.
func (in *Inserter) readPublished(ctx context.Context, last int64) (*published, error) {
	p := &published{givenUp: map[int64]string{}}
	err := in.readWhole(ctx, schemas.StatusChangedTopic, func(r *kgo.Record) error {
		if !from(r, Stage) {
			return nil
		}
		m, err := in.deps.Codec.Decode(kafka.FromKgo(r))
		if errors.Is(err, schemas.ErrUnknownSchema) {
			return fmt.Errorf("status.changed, partition %d, offset %d: %w; `tributary topics pass-over status.changed %d %d --dry-run` shows the ways on", r.Partition, r.Offset, err, r.Partition, r.Offset)
		}
		if err != nil {
			return nil //nolint:nilerr // nobody can read it, or nobody is to: every reader of the log goes on behind it
		}
		e, ok := m.Body.(*schemas.StatusChanged)
		if !ok || e.Position < 1 || e.Position > last {
			return nil
		}
		switch {
		case e.Entity == schemas.EntityBatch:
			p.ends.add(e.Position)
		case e.Entity == schemas.EntityFile:
			p.operations.add(e.Position)
		case e.Entity == schemas.EntityDocument && e.Phase == string(schemas.Upload):
			p.documents.add(e.Position)
			if e.Exception == quarantined || e.Exception == blob.LostName {
				p.givenUp[e.Position] = e.Exception
			}
		}
		return nil
	})
	return p, err
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

// readWhole reads a topic's partitions from their beginnings to where they end now.
func (in *Inserter) readWhole(ctx context.Context, topic string, take func(*kgo.Record) error) error {
	reader := kafka.Reader{Connect: in.deps.Connect}
	spans, err := reader.Bounds(ctx, kafka.TopicName(in.deps.Prefix, topic))
	if err != nil {
		return err
	}
	return reader.Read(ctx, spans, func(c kafka.Chunk) error {
		for _, r := range c.Records {
			if err := take(r); err != nil {
				return err
			}
		}
		return nil
	})
}
