package insert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// loader applies positions while its member holds the lease.
type loader struct {
	in    *Inserter
	db    pg.Beginner
	epoch int64
	at    progress
	ends  *batchEnds
	// Positions below careful are begun and applied one by one, since a member
	// died at the place; begun is the one that was begun last.
	careful, begun int64
}

// applyAll applies what feed brings, as many positions at a time as are there
// and allowed. After a death at a position it goes one by one, until it is past
// the place.
func (l *loader) applyAll(ctx context.Context, feed *feed) error {
	for {
		group, err := l.in.gather(ctx, feed)
		if err != nil {
			return err
		}
		if err := l.applyGroup(ctx, group); err != nil {
			return err
		}
	}
}

func (l *loader) applyGroup(ctx context.Context, group []*item) (err error) {
	defer release(group)
	if l.begun == 0 {
		l.begun = group[0].ev.Position
		if l.careful, err = l.in.begin(ctx, l.begun); err != nil {
			return err
		}
	}
	parts := [][]*item{group}
	if group[0].ev.Position < l.careful {
		parts = slices.Collect(slices.Chunk(group, 1))
	}
	for _, part := range parts {
		if err := l.applyPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) applyPart(ctx context.Context, part []*item) error {
	first, last := part[0].ev.Position, part[len(part)-1]
	if first < l.careful && first != l.begun {
		l.begun = first
		if _, err := l.in.begin(ctx, first); err != nil {
			return err
		}
	}
	if err := l.ends.await(ctx, part, first < l.careful); err != nil {
		return errors.Join(err, l.in.forget(first))
	}
	if err := l.in.guarded(ctx, l.db, l.epoch, l.at, part); err != nil {
		if !errors.Is(err, errPanic) {
			err = errors.Join(err, l.in.forget(first)) // no fault of the position's
		}
		return err
	}
	l.at = progress{position: last.ev.Position + 1, offset: last.offset + 1}
	l.in.metrics.stopped.Set(0)
	l.in.metrics.broken.Set(0)
	if last.ev.What == schemas.PositionBatchEnd {
		l.in.metrics.due.Inc()
		l.ends.add(last)
	}
	return nil
}

// gather waits for the next position, and takes what else is ready, up to a
// large document or a batch's end.
func (in *Inserter) gather(ctx context.Context, feed *feed) ([]*item, error) {
	var group []*item
	var rows int64
	for len(group) < in.cfg.Batch && rows < int64(in.cfg.BatchRows) {
		var it *item
		var ok bool
		if len(group) == 0 {
			select {
			case it, ok = <-feed.items:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		} else {
			select {
			case it, ok = <-feed.items:
			default:
				return group, nil
			}
		}
		if !ok {
			if len(group) > 0 {
				return group, nil // the cause comes with the next call
			}
			return nil, feed.err
		}
		select {
		case <-it.ready:
		case <-ctx.Done():
			release(append(group, it))
			return nil, context.Cause(ctx)
		}
		if it.err != nil {
			err := fmt.Errorf("position %d: %w", it.ev.Position, it.err)
			release(append(group, it))
			return nil, err
		}
		group = append(group, it)
		rows += it.done.rows()
		if it.large() || it.ev.What == schemas.PositionBatchEnd {
			return group, nil
		}
	}
	return group, nil
}

// chooseCompression has large values compressed with lz4 where Postgres has it,
// which is several times faster than its default.
func (in *Inserter) chooseCompression(ctx context.Context) error {
	var has bool
	err := in.deps.Pool.QueryRow(ctx, "SELECT coalesce((SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'), false)").Scan(&has)
	if err != nil {
		return fmt.Errorf("ask for the database's compressions: %w", err)
	}
	if has {
		in.settings = "; SET LOCAL default_toast_compression = lz4"
	}
	return nil
}

// errPanic marks an error that was a panic.
var errPanic = errors.New("panic")

// held is work in a transaction that also holds what the world is told of it,
// and that only the holder of the lease commits. Its caller begins it, as a
// transaction's crash points are named after the function that does.
func (w *writer) held(ctx context.Context, epoch int64, work func(tx pgx.Tx) error) func(tx pgx.Tx) error {
	return func(tx pgx.Tx) error {
		w.tx = tx
		// Plans must not depend on statistics of tables that have just begun
		// to fill, nor be made again and again; and what a statement remembers
		// of a batch needn't go through a file.
		if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off; SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL work_mem = '32MB'"+w.in.settings); err != nil {
			return fmt.Errorf("prepare transaction: %w", err)
		}
		if err := work(tx); err != nil {
			return err
		}
		if err := outbox.Append(ctx, tx, warehouse.Schema, w.records); err != nil {
			return err
		}
		return w.in.lease().Check(ctx, tx, epoch)
	}
}

// guarded applies a group in one transaction and turns a panic into an error.
func (in *Inserter) guarded(ctx context.Context, db pg.Beginner, epoch int64, at progress, group []*item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w at positions %d to %d: %v", errPanic, group[0].ev.Position, group[len(group)-1].ev.Position, p)
		}
	}()
	return in.apply(ctx, db, epoch, at, group)
}

// apply is the transaction of a group.
func (in *Inserter) apply(ctx context.Context, db pg.Beginner, epoch int64, at progress, group []*item) error {
	w := &writer{in: in, applied: in.now()}
	err := pg.InTx(ctx, db, w.held(ctx, epoch, func(tx pgx.Tx) error {
		stored, err := in.progress(ctx, tx, "FOR UPDATE")
		if err != nil {
			return err
		}
		if stored.position != at.position {
			return fmt.Errorf("the warehouse is at position %d, not %d: %w", stored.position, at.position, pg.ErrMoved)
		}
		follows := at.position
		for _, it := range group {
			if it.ev.Position != follows+it.lost {
				return fmt.Errorf("position %d does not follow %d", it.ev.Position, follows-1)
			}
			follows = it.ev.Position + 1
			if err := w.apply(ctx, it); err != nil {
				return fmt.Errorf("position %d (%s of %s): %w", it.ev.Position, it.ev.What, it.subject(), err)
			}
		}
		if err := w.flush(ctx); err != nil {
			return fmt.Errorf("positions %d to %d: %w", group[0].ev.Position, follows-1, err)
		}
		last := group[len(group)-1]
		err = pg.Exec(ctx, tx, "store the position", "UPDATE warehouse.state SET next_position = $1, next_offset = $2, epoch = $3, chain_begin = nullif($4, 0)", last.ev.Position+1, last.offset+1, epoch, last.begin)
		if err != nil {
			return err
		}
		if err := storeLinks(ctx, tx, group); err != nil {
			return err
		}
		return pg.Exec(ctx, tx, "clear tries", "DELETE FROM warehouse.try WHERE position <= $1", last.ev.Position)
	}))
	if err != nil {
		return err
	}
	in.metrics.count(group, w.rows)
	return nil
}
