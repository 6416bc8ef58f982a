package insert

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/internal/mapping"
	"tributary/schemas"
)

// What a person decided about records of document.ordered (tributary topics
// pass-over) is kept to by the rule of package chain. A record that never was is
// ignored. One whose content is lost takes its position: a document has failed,
// and everything else does nothing.

// hollow is the kind of a position, but a document's, whose content is lost.
const hollow = "hollow"

// decode reads a record. Beside the error of one that can't be read, or is passed
// over, stands an item without more than its digest, or what could be read. It
// stops insertion unless somebody decided about it: the order must not be
// guessed. What headers say does not matter: no digest covers them.
func (in *Inserter) decode(r *kgo.Record) (*item, error) {
	m, err := in.deps.Codec.Decode(kafka.FromKgo(r))
	ev, ok := m.Body.(*schemas.DocumentOrdered)
	switch {
	case !ok && err == nil:
		err = fmt.Errorf("holds an event of %s", m.Topic)
	case !ok:
	case !errors.Is(err, schemas.ErrPassedOver):
		err = nil
	}
	if !ok {
		ev = &schemas.DocumentOrdered{}
	}
	if m.ID == "" { // as sequence makes it
		m.ID = schemas.EventID("sequence", schemas.LiveRun, strconv.FormatInt(ev.Position, 10), schemas.DocumentOrderedTopic)
	}
	it := newItem(m, ev, r.Offset)
	it.digest = chain.Of(r.Value)
	if err != nil {
		err = fmt.Errorf("document.ordered at offset %d: %w: %w; %s", r.Offset, errUnreadable, err, chain.WayOn(r.Offset))
	}
	return it, err
}

// passOver takes the content from a position: somebody decided that it is lost.
func (it *item) passOver(d chain.Decision) {
	if it.ev.What == schemas.PositionDocument {
		it.hollow = true
		it.done = &prepared{failure: &mapping.DocumentError{Exception: schemas.PassedOver, Message: fmt.Sprintf("%s decided that the record of the document's position is passed over: %s", d.By, d.Reason)}}
		return
	}
	ev := *it.ev
	ev.What = hollow
	it.ev = &ev
}

// ignore says that a record is passed over and takes no position. If insertion had
// stopped at it, it has gone on.
func (j *judge) ignore(ctx context.Context, l chain.Link, d chain.Decision) error {
	j.head.PassOver(l, d)
	if j.ignored {
		return nil
	}
	j.ignored = true
	in := j.in
	in.deps.Log.Info("a record of document.ordered is passed over, as was decided", "offset", l.Offset, "digest", l.Digest, "position", l.Position, "by", d.By, "reason", d.Reason)
	if !in.target.first {
		return nil
	}
	if _, err := in.deps.Pool.Exec(ctx, "UPDATE warehouse.state SET chain_broken = '', chain_broken_at = 0 WHERE chain_broken <> ''"); err != nil {
		return fmt.Errorf("note that insertion goes on: %w", err)
	}
	in.metrics.stopped.Set(0)
	in.metrics.broken.Set(0)
	return nil
}

// explain completes what a broken chain says: of what was applied it may have been
// decided later that it never was.
func (j *judge) explain(ctx context.Context, err error) error {
	var broken *chain.BrokenError
	if errors.As(err, &broken) && j.in.target.first {
		first := broken.First.Digest
		if !broken.Known {
			// Of a position that is lost nothing was noted: what made it lost was
			// applied next.
			var digest []byte
			err := j.in.deps.Pool.QueryRow(ctx, "SELECT digest FROM warehouse.chain WHERE position > $1 ORDER BY position LIMIT 1", broken.Found.Position).Scan(&digest)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("read digests of positions: %w", err)
			}
			copy(first[:], digest)
		}
		broken.Rebuild = j.in.deps.Decided.Foreign(first)
	}
	return fmt.Errorf("document.ordered: %w", err)
}

// learn has what was decided known before anything is read.
func (in *Inserter) learn(ctx context.Context) error {
	if in.deps.LearnDecisions == nil {
		return nil
	}
	if err := in.deps.LearnDecisions(ctx); err != nil {
		return fmt.Errorf("learn which records are passed over: %w", err)
	}
	return nil
}
