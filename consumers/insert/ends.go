package insert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Checking what a centre's batch has changed takes as long as loading it, and
// concerns no other centre. So a batch's end is only noted in its place of the
// order, as due, and worked off beside the loading of what follows. Whatever
// follows of the same centre, and what concerns all, waits for it.

// due notes that a batch's end has been reached.
func (w *writer) due(ctx context.Context, it *item) error {
	ordered, err := json.Marshal(it.ev)
	if err != nil {
		return fmt.Errorf("note the batch's end: %w", err)
	}
	return pg.Exec(ctx, w.tx, "note the batch's end", "INSERT INTO warehouse.batch_end (position, centre, event, trace, ordered) VALUES ($1, $2, $3, $4, $5)",
		it.ev.Position, centreOf(it.ev), it.id, it.trace, ordered)
}

// batchEnds are the batch ends that are due.
type batchEnds struct {
	separate bool // whether centres can't claim each other's keys
	queue    chan *item

	mu   sync.Mutex
	open map[string]int // by centre
	done chan struct{}  // closed at the next change
}

func newBatchEnds(separate bool) *batchEnds {
	return &batchEnds{separate: separate, queue: make(chan *item, maxEnds), open: map[string]int{}, done: make(chan struct{})}
}

// add queues a batch's end that has been noted.
func (e *batchEnds) add(it *item) {
	e.mu.Lock()
	e.open[centreOf(it.ev)]++
	e.mu.Unlock()
	e.queue <- it // there is room: await sees to it
}

// finished says that a batch's end has been worked off.
func (e *batchEnds) finished(it *item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	centre := centreOf(it.ev)
	if e.open[centre]--; e.open[centre] == 0 {
		delete(e.open, centre)
	}
	close(e.done)
	e.done = make(chan struct{})
}

// await waits for the ends that a group must not overtake: those of its
// centres, or all.
func (e *batchEnds) await(ctx context.Context, group []*item, all bool) error {
	for {
		e.mu.Lock()
		blocked, done := e.blocks(group, all), e.done
		e.mu.Unlock()
		if !blocked {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (e *batchEnds) blocks(group []*item, all bool) bool {
	if len(e.open) == 0 {
		return false
	}
	due := 0
	for _, n := range e.open {
		due += n
	}
	return all || !e.separate || due == maxEnds || slices.ContainsFunc(group, func(it *item) bool {
		switch it.ev.What {
		case schemas.PositionUnload, schemas.PositionReference:
			return true
		}
		return e.open[centreOf(it.ev)] > 0
	})
}

// workOff works off batch ends as they become due.
func (in *Inserter) workOff(ctx context.Context, db pg.Beginner, epoch int64, ends *batchEnds) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case it := <-ends.queue:
			if err := in.end(ctx, db, epoch, it); err != nil {
				return err
			}
			ends.finished(it)
			in.metrics.due.Dec()
		}
	}
}

// finishEnds works off what an earlier session has left due. Each is noted as
// begun, so that one that kills its member does so with growing pauses, and no
// document that follows is blamed.
func (in *Inserter) finishEnds(ctx context.Context, db pg.Beginner, epoch int64) error {
	items, err := in.dueEnds(ctx)
	if err != nil {
		return err
	}
	in.metrics.due.Set(float64(len(items)))
	for _, it := range items {
		if _, err := in.begin(ctx, it.ev.Position); err != nil {
			return err
		}
		if err := in.end(ctx, db, epoch, it); err != nil {
			if !errors.Is(err, errPanic) {
				err = errors.Join(err, in.forget(it.ev.Position)) // no fault of the batch's
			}
			return err
		}
		in.metrics.due.Dec()
	}
	return nil
}

// dueEnds reads the batch ends that are due, in order.
func (in *Inserter) dueEnds(ctx context.Context) ([]*item, error) {
	return pg.List(ctx, in.deps.Pool, "read batch ends that are due", func(row pgx.CollectableRow) (*item, error) {
		var ev schemas.DocumentOrdered
		var m schemas.Message
		err := row.Scan(&m.ID, &m.Traceparent, &ev)
		return newItem(m, &ev, 0), err
	}, "SELECT event, trace, ordered FROM warehouse.batch_end ORDER BY position")
}

// end works off a batch's end in one transaction, and turns a panic into an
// error.
func (in *Inserter) end(ctx context.Context, db pg.Beginner, epoch int64, it *item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w at position %d: %v", errPanic, it.ev.Position, p)
		}
	}()
	w := &writer{in: in, applied: in.now()}
	err = pg.InTx(ctx, db, w.held(ctx, epoch, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE FROM warehouse.batch_end WHERE position = $1", it.ev.Position)
		if err != nil {
			return fmt.Errorf("take the batch's end: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("the batch's end is done: %w", pg.ErrMoved)
		}
		if err := w.batchEnd(ctx, it); err != nil {
			return err
		}
		return pg.Exec(ctx, tx, "clear tries", "DELETE FROM warehouse.try WHERE position = $1", it.ev.Position)
	}))
	if err != nil {
		return fmt.Errorf("position %d (%s of %s): %w", it.ev.Position, it.ev.What, it.subject(), err)
	}
	return nil
}
