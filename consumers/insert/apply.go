package insert

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// applyAll applies what feed brings, as many positions at a time as are there
// and allowed. After a death at a position it goes one by one, until it is past
// the place.
func (in *Inserter) applyAll(ctx context.Context, db pg.Beginner, epoch int64, at progress, feed *feed, ends *ends) error {
	noted, careful := false, int64(0)
	for {
		group, err := in.gather(ctx, feed)
		if err != nil {
			return err
		}
		if !noted {
			if careful, err = in.begin(ctx, group[0].ev.Position); err != nil {
				release(group)
				return err
			}
		}
		parts := [][]*item{group}
		if group[0].ev.Position < careful {
			parts = parts[:0]
			for i := range group {
				parts = append(parts, group[i:i+1])
			}
		}
		for _, part := range parts {
			if part[0].ev.Position < careful && noted {
				if _, err := in.begin(ctx, part[0].ev.Position); err != nil {
					release(group)
					return err
				}
			}
			noted = true
			if err := ends.await(ctx, part, part[0].ev.Position < careful); err != nil {
				release(group)
				return errors.Join(err, in.forget(part[0].ev.Position))
			}
			if err := in.guarded(ctx, db, epoch, at, part); err != nil {
				release(group)
				if !errors.Is(err, errPanic) {
					err = errors.Join(err, in.forget(part[0].ev.Position)) // no fault of the position's
				}
				return err
			}
			last := part[len(part)-1]
			at = progress{position: last.ev.Position + 1, offset: last.offset + 1}
			in.metrics.stopped.Set(0)
			in.metrics.broken.Set(0)
			if last.ev.What == schemas.PositionBatchEnd {
				in.metrics.due.Inc()
				ends.add(last)
			}
		}
		release(group)
	}
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
		_, err = tx.Exec(ctx, "UPDATE warehouse.state SET next_position = $1, next_offset = $2, epoch = $3, chain_begin = nullif($4, 0)", last.ev.Position+1, last.offset+1, epoch, last.begin)
		if err != nil {
			return fmt.Errorf("store the position: %w", err)
		}
		if err := storeLinks(ctx, tx, group); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM warehouse.try WHERE position <= $1", last.ev.Position); err != nil {
			return fmt.Errorf("clear tries: %w", err)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	in.metrics.count(group, w.rows)
	return nil
}
