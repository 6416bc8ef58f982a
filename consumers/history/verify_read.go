package history

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// hashers is how many parts of the log are decoded and hashed at a time.
const hashers = 2

// part is what was made of a part of the log.
type part struct {
	hashes []hashed
	short  []byte // for the rollups
}

// hashLog makes the rows of an interval's records, as the sink does, and hands their
// hashes to take, in order. Parts are hashed beside each other.
func (v *verification) hashLog(ctx context.Context, p int32, i interval, take func([]hashed) error) error {
	workers := make([]func([]*kgo.Record) (part, error), hashers)
	for n := range workers {
		h := &hasher{v: v, reader: reader{codec: v.h.deps.Codec}, shortener: v.sums.shortener()}
		workers[n] = h.hash
	}
	read := func(ctx context.Context, next func([]*kgo.Record) error) error {
		return readLog(ctx, v.h.deps.Connect, v.topic, map[int32]interval{p: i}, func(_ int32, records []*kgo.Record) error { return next(records) })
	}
	return sink.InOrder(ctx, hashers, workers, read, func(_ context.Context, made part) error {
		if err := v.sums.add(made.short); err != nil {
			return err
		}
		return take(made.hashes)
	})
}

// hasher hashes one part after another.
type hasher struct {
	v         *verification
	reader    reader
	row       rowHasher
	shortener *shortener
}

func (h *hasher) hash(records []*kgo.Record) (part, error) {
	p := part{hashes: make([]hashed, len(records))}
	for i, rec := range records {
		t, err := h.reader.read(rec)
		if err != nil {
			return p, fmt.Errorf("partition %d at offset %d: %w", rec.Partition, rec.Offset, err)
		}
		p.hashes[i] = hashed{offset: rec.Offset, hash: h.row.hash(&t, schemas.StatusChangedTopic, rec),
			expired: !h.v.expired.IsZero() && bounded(t.message.Time).Before(h.v.expired)}
		p.short = h.shortener.short(p.short, &t, rec)
	}
	return p, nil
}
