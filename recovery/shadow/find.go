package shadow

import (
	"context"
	"errors"
	"fmt"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// Find finds a replay by its number, its run's id or its shadow's name. It must be
// a shadow of which something is left.
func Find(ctx context.Context, q pg.Querier, name string) (control.ReplayRun, error) {
	r, err := control.ReadReplayRun(ctx, q, name)
	if err != nil {
		return r, err
	}
	if r.Shadow == "" {
		return r, fmt.Errorf("replay %d is no shadow: its results are live, and there is nothing to compare", r.Number)
	}
	n, err := control.CountReplay(ctx, q, r.ID)
	if err == nil && n.Items == 0 {
		err = fmt.Errorf("what the shadow %s has found was lost with the control database: make a new one", r.Shadow)
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
// of these, until each returns false. Documents that were judged by several
// profiles are an error.
func (c *Comparer) ChangedFiles(ctx context.Context, r *control.ReplayRun, each func(*Document) bool) error {
	var last control.ReplayItem
	skipped, err := c.Changes(ctx, r, func(d *Document) error {
		item := control.ReplayItem{File: d.File, Archive: d.Archive}
		if item == last {
			return nil
		}
		last = item
		if !each(d) {
			return errEnough
		}
		return nil
	})
	if err == nil && skipped.Mixed > 0 {
		err = fmt.Errorf("%d %w", skipped.Mixed, ErrMixed)
	}
	return err
}

// Stopped tells whether an error of ChangedFiles says that its reader wanted no
// more.
func Stopped(err error) bool { return errors.Is(err, errEnough) }
