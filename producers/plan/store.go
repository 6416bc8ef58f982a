package plan

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Load reads what is known of the given files, and locks them until the
// transaction ends. Events go to the given outbox of control.
func Load(ctx context.Context, tx pgx.Tx, outbox outbox.Outbox, ids []string, now time.Time) (*World, error) {
	w := &World{outbox: outbox, now: now, files: map[string]*File{}, jobs: map[string]int{}, met: map[string]*control.Outcomes{}}
	files, err := control.LockFiles(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for id, f := range files {
		w.files[id] = &File{File: f}
	}
	hostings, err := control.Hostings(ctx, tx, ids, now)
	if err != nil {
		return nil, err
	}
	for _, h := range hostings {
		if f := w.files[h.File]; f != nil {
			f.hostings = append(f.hostings, h)
		}
	}
	acquisitions, err := control.Acquisitions(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, a := range acquisitions {
		w.files[a.File].add(a)
	}
	if w.attempts, err = control.Attempts(ctx, tx, ids); err != nil {
		return nil, err
	}
	looks, err := control.Looks(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, k := range looks {
		w.files[k.File].looks = append(w.files[k.File].looks, k)
	}
	return w, nil
}

// Store writes the decisions with their events, and what follows from files
// that have ended.
func (w *World) Store(ctx context.Context, tx pgx.Tx) error {
	var files []*control.File
	var acquisitions []*control.Acquisition
	var looks []*control.Look
	var attempts []*control.Attempt
	var touched []string
	batches := map[[2]string]string{} // by session and domain
	for _, id := range w.order() {
		f := w.files[id]
		files = append(files, f.File)
		touched = append(touched, id)
		for _, a := range f.Acquisitions {
			if a.New && a.Session != nil && a.Batch == nil {
				of := [2]string{*a.Session, a.Domain}
				batch := batches[of]
				if batch == "" {
					var err error
					if batch, err = control.EnsureBatch(ctx, tx, *a.Session, a.Domain, w.now); err != nil {
						return err
					}
					batches[of] = batch
				}
				a.Batch = &batch
			}
			acquisitions = append(acquisitions, a)
		}
		acquisitions = append(append(acquisitions, f.shadows...), f.healings...)
		for _, k := range f.looks {
			if k.Class != "announced" {
				looks = append(looks, k)
			}
		}
	}
	for _, a := range w.attempts {
		if a.Changed {
			attempts = append(attempts, a)
		}
	}
	if err := control.StoreFiles(ctx, tx, files); err != nil {
		return err
	}
	if err := control.StoreAcquisitions(ctx, tx, acquisitions); err != nil {
		return err
	}
	if w.origins != nil {
		if err := control.OriginsGone(ctx, tx, w.origins.gone, w.now); err != nil {
			return err
		}
	}
	if err := control.StoreHealings(ctx, tx, w.healings, w.now); err != nil {
		return err
	}
	if err := control.ClassLooks(ctx, tx, looks); err != nil {
		return err
	}
	if err := control.StoreAttempts(ctx, tx, attempts); err != nil {
		return err
	}
	if err := control.JobNews(ctx, tx, w.jobs); err != nil {
		return err
	}
	if err := control.CountFetches(ctx, tx, w.met, w.now); err != nil {
		return err
	}
	if err := w.storeRests(ctx, tx); err != nil {
		return err
	}
	if _, err := control.CompleteExtracted(ctx, tx, touched, w.now); err != nil {
		return err
	}
	if err := control.AfterEnds(ctx, tx, touched, w.now); err != nil {
		return err
	}
	return w.outbox.Append(ctx, tx, w.out...)
}
