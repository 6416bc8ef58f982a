package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// lost finds the versions whose bytes are not stored.
func (p *Runner) lost(ctx context.Context, items []control.ReplayItem) (map[string]bool, error) {
	out := map[string]bool{}
	if p.Blobs == nil {
		return out, nil
	}
	for _, i := range items {
		if i.Archive == "" {
			continue
		}
		if _, err := p.Blobs.Stat(ctx, i.Archive); errors.Is(err, fs.ErrNotExist) {
			out[i.Archive] = true
		} else if err != nil {
			return nil, fmt.Errorf("look for the stored bytes %s: %w", i.Archive, err)
		}
	}
	return out, nil
}

func ordinals(items []control.ReplayItem) []int64 {
	out := make([]int64, len(items))
	for i, it := range items {
		out[i] = it.Ordinal
	}
	return out
}

// requestItems decides about items, and stores that with the events.
func (p *Runner) requestItems(ctx context.Context, tx pgx.Tx, run *control.ReplayRun, items []control.ReplayItem, lost map[string]bool, now time.Time) (requested int, err error) {
	if run.Phase == schemas.FromData {
		return p.requestChecks(ctx, tx, run, items, now)
	}
	var files []string
	for _, i := range items {
		files = append(files, i.File)
	}
	w, err := plan.Load(ctx, tx, p.Outbox, files, now)
	if err != nil {
		return 0, err
	}
	others, err := control.OtherReplays(ctx, tx, run.Number, files)
	if err != nil {
		return 0, err
	}
	r := &decision{World: w, now: now, codec: p.Outbox.Codec, run: run, others: others, lost: lost, naming: p.Naming,
		documents: func(a *control.Acquisition) ([]control.Document, error) { return control.AcceptedDocuments(ctx, tx, a) }}
	var decided []control.ReplayItem
	for _, i := range items {
		if len(r.verdicts) > turnDocuments || r.extracted > turnDocuments {
			break // the others wait for the next turn
		}
		a, err := r.item(&i)
		if err != nil {
			return 0, err
		}
		if a != nil {
			if err := w.Add(ctx, tx, a); err != nil {
				return 0, err
			}
			i.Acquisition = &a.ID
			requested++
		}
		decided = append(decided, i)
	}
	if len(r.verdicts) > 0 {
		if err := control.StoreDocuments(ctx, tx, r.verdicts); err != nil {
			return 0, err
		}
	}
	if err := control.StoreItems(ctx, tx, run.ID, decided); err != nil {
		return 0, err
	}
	return requested, w.Store(ctx, tx)
}

// requestChecks has the records of centres judged again.
func (p *Runner) requestChecks(ctx context.Context, tx pgx.Tx, run *control.ReplayRun, items []control.ReplayItem, now time.Time) (int, error) {
	for n := range items {
		op, err := control.RequestCheck(ctx, tx, run.ID, items[n].Domain, run.By, run.Reason, now)
		if err != nil {
			return 0, err
		}
		items[n].Operation = &op.ID
	}
	return len(items), control.StoreItems(ctx, tx, run.ID, items)
}
