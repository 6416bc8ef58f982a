package shadow

import (
	"context"
	"errors"
	"fmt"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// Errors of what is no shadow that can be compared.
var (
	ErrNoShadow = errors.New("it is no shadow: its results are live, and there is nothing to compare")
	ErrLost     = errors.New("what the shadow has found was lost with the control database: make a new one")
)

// Find finds a replay by its number, its run's id or its shadow's name. It must be
// a shadow of which something is left.
func Find(ctx context.Context, q pg.Querier, name string) (control.ReplayRun, error) {
	r, err := control.ReadReplayRun(ctx, q, name)
	if err != nil {
		return r, err
	}
	if r.Shadow == "" {
		return r, fmt.Errorf("replay %d: %w", r.Number, ErrNoShadow)
	}
	n, err := control.CountReplay(ctx, q, r.ID)
	if err == nil && n.Items == 0 {
		err = fmt.Errorf("replay %d, the shadow %s: %w", r.Number, r.Shadow, ErrLost)
	}
	return r, err
}

// Count counts the documents of a shadow run by what would become of them.
func (c *Comparer) Count(ctx context.Context, r *control.ReplayRun) (*Counter, Skipped, error) {
	counter := NewCounter()
	skipped, err := c.Compare(ctx, r, func(d *Document) error {
		counter.Add(d)
		return nil
	})
	return counter, skipped, err
}

// Changes gives the documents of a shadow run that would change.
func (c *Comparer) Changes(ctx context.Context, r *control.ReplayRun, each func(*Document) error) (Skipped, error) {
	return c.Compare(ctx, r, func(d *Document) error {
		if d.Change == Unchanged {
			return nil
		}
		return each(d)
	})
}

// errEnough ends a comparison whose reader wants no more.
var errEnough = errors.New("enough")

// ChangedFiles gives, for each file of which some document would change, the first
// of these, until each returns false, and counts all documents. Documents that were
// judged by several profiles are an error.
func (c *Comparer) ChangedFiles(ctx context.Context, r *control.ReplayRun, each func(*Document) bool) (Counts, error) {
	var counts Counts
	var last int64
	skipped, err := c.Compare(ctx, r, func(d *Document) error {
		counts.add(d.Change)
		if d.Change == Unchanged || d.ordinal == last {
			return nil
		}
		last = d.ordinal
		if !each(d) {
			return errEnough
		}
		return nil
	})
	if err == nil && skipped.Mixed > 0 {
		err = fmt.Errorf("%d %w", skipped.Mixed, ErrMixed)
	}
	return counts, err
}

// Stopped tells whether an error of ChangedFiles says that its reader wanted no
// more.
func Stopped(err error) bool { return errors.Is(err, errEnough) }
