package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// settle stores what became of a batch, at once and under the lease: what
// is acknowledged is taken out of the outbox, what is refused for good becomes a
// letter, and what waits for it gets its end.
func (p *Publisher) settle(ctx context.Context, epoch int64, b *batch) error {
	var gone, partly []outbox.Row
	var left [][]schemas.Record // of partly
	for i, row := range b.rows {
		if row.Damaged != nil {
			gone = append(gone, row)
			continue
		}
		var stay []schemas.Record
		for _, e := range b.events[i] {
			if e.state == waiting {
				stay = append(stay, e.record)
			}
		}
		switch {
		case len(stay) == 0:
			gone = append(gone, row)
		case len(stay) < len(row.Records):
			partly, left = append(partly, row), append(left, stay)
		}
	}
	if len(gone)+len(partly) == 0 {
		return nil
	}
	if len(partly) == 0 && !b.spoiled() {
		if err := outbox.DeleteUnder(ctx, p.deps.Pool, p.lease, epoch, gone); err != nil {
			return fmt.Errorf("delete what was published: %w", err)
		}
		p.settled(b, len(gone), nil)
		return nil
	}
	var letters []outbox.Letter
	err := pg.InTx(ctx, p.deps.Pool, func(tx pgx.Tx) error {
		if err := p.lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		for i, row := range partly {
			if err := outbox.Rewrite(ctx, tx, p.deps.Schema, row, left[i]); err != nil {
				return err
			}
		}
		if b.spoiled() {
			if err := p.tellRefused(ctx, tx, b); err != nil {
				return err
			}
			letters = b.letters()
			if err := outbox.AddLetters(ctx, tx, p.deps.Schema, letters); err != nil {
				return err
			}
		}
		return outbox.Delete(ctx, tx, p.deps.Schema, gone)
	})
	if err != nil {
		return fmt.Errorf("delete what was published: %w", err)
	}
	p.settled(b, len(gone), letters)
	return nil
}

// tellRefused adds to the outbox what ends those who wait for refused events, and
// what the log is told of positions that were replaced.
func (p *Publisher) tellRefused(ctx context.Context, tx pgx.Tx, b *batch) error {
	codec, err := p.codec()
	if err != nil {
		return err
	}
	for _, e := range b.all() {
		if e.letter == nil || e.state == waiting || e.letter.Became != outbox.BecameFailed {
			continue
		}
		m, err := codec.Decode(e.record)
		if err != nil || p.deps.Ends == nil {
			e.letter.Became = outbox.BecameNothing
			continue
		}
		ends, err := p.deps.Ends(ctx, tx, m, e.cause)
		if err != nil {
			return err
		}
		if err := (outbox.Outbox{Schema: p.deps.Schema, Codec: codec}).Append(ctx, tx, ends...); err != nil {
			return err
		}
	}
	return nil
}

// settled counts what was stored, and says what was refused.
func (p *Publisher) settled(b *batch, rows int, letters []outbox.Letter) {
	p.deleted += rows
	published := 0
	for _, e := range b.all() {
		if e.state == acknowledged {
			published++
			p.bytes += len(e.record.Value)
		}
	}
	p.metrics.published.Add(float64(published))
	for _, l := range letters {
		p.metrics.refused.WithLabelValues(l.Class).Inc()
		p.log.Error("an event can't be published for good: it is set aside, and others go on; tributary dlq list shows it",
			"topic", l.Topic, "event", schemas.Cut(l.Event, 128), "subject", l.Subject, "bytes", l.Size, "class", l.Class, "became", l.Became, "error", schemas.Cut(l.Cause, 1024))
	}
}

// remains tells whether something of a batch stays in the outbox.
func (b *batch) remains() bool {
	return slices.ContainsFunc(b.all(), func(e *event) bool { return e.state == waiting })
}

// spoiled tells whether something of a batch was refused for good, or can't be
// read.
func (b *batch) spoiled() bool {
	return slices.ContainsFunc(b.rows, func(r outbox.Row) bool { return r.Damaged != nil }) ||
		slices.ContainsFunc(b.all(), func(e *event) bool { return e.letter != nil })
}

// letters are those of a batch that is settled now.
func (b *batch) letters() []outbox.Letter {
	var out []outbox.Letter
	for i, row := range b.rows {
		if row.Damaged != nil {
			out = append(out, outbox.LetterOfRow(row))
		}
		for _, e := range b.events[i] {
			if e.letter != nil && e.state != waiting {
				out = append(out, *e.letter)
			}
		}
	}
	return out
}
