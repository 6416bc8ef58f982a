package plan

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// revisit takes up looks that need not wait any longer, and tries again what
// failed long enough ago.
func (p *Planner) revisit(ctx context.Context, now time.Time) error {
	p.revisiting.Lock()
	defer p.revisiting.Unlock()
	waiting, err := control.WaitingFiles(ctx, p.Pool, now.Add(-p.deps.Cutoff), atOnce)
	if err != nil {
		return err
	}
	retries, err := control.RetryFiles(ctx, p.Pool, now, atOnce)
	if err != nil {
		return err
	}
	if p.noRetries {
		retries = nil
	}
	ids := slices.Concat(waiting, retries)
	if len(ids) == 0 {
		return nil
	}
	return pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		w, err := p.load(ctx, tx, ids, now)
		if err != nil {
			return err
		}
		for _, id := range w.order() {
			f := w.files[id]
			for _, k := range f.looks {
				if k.Class == "waiting" {
					k.OwnPolling = false
					w.takeUp(f, k)
				}
			}
			w.retryFile(f)
		}
		return w.Store(ctx, tx)
	})
}

// retryFile starts a failed file's next acquisition, while a hosting shows it.
func (w *World) retryFile(f *File) {
	last := f.newest()
	if last == nil || f.active() != nil {
		return
	}
	if last.New || last.RetryAt == nil || last.RetryAt.After(w.now) {
		return
	}
	last.RetryAt, last.Changed = nil, true
	if again := w.now.Add(w.retry); f.Postponed() {
		last.RetryAt = &again
		return
	}
	if next := w.again(f, last); len(f.Candidates(next)) > 0 {
		w.begin(f, next)
	}
}

// again is the acquisition that tries again what another has not brought.
func (w *World) again(f *File, last *control.Acquisition) *control.Acquisition {
	return &control.Acquisition{
		Run: last.Run, File: f.ID, Domain: f.Centre, Source: last.Source, Look: last.Look, Size: last.Size,
		State: control.Wanted, NotBefore: w.now, Tried: map[string]control.Tried{}, Retries: last.Retries + 1, New: true,
	}
}

// centreNotHosted is the exception of a file that only sources show which may not.
const centreNotHosted = "centre_not_hosted_here"

// vanished ends a wanted file that no hosting offers any more.
func (w *World) vanished(f *File, a *control.Acquisition) {
	status, exception, message := schemas.Failed, "gone", "no source shows the file any more"
	var opens *time.Time // of the first window that will
	for _, h := range f.hostings {
		if h.Refused && exception == "gone" {
			exception, message = centreNotHosted, "the source "+h.Source+" shows the file, but may not show files of the centre "+f.Centre+" (any more): see hosts in the configuration"
		}
		if !h.Present || a.Tried[h.Source].GivenUp {
			continue
		}
		switch h.State {
		case "available": // it changes just now: its new look will settle
			if a.Heals != "" { // its new bytes are hardly the old ones
				continue
			}
			a.NotBefore, a.Changed = w.now.Add(10*time.Second), true
			return
		case "removed":
			if exception == "gone" {
				status, exception, message = schemas.Cancelled, "source_removed", "the source "+h.Source+" is no longer configured"
			}
		case control.SourceClosed:
			status, exception, message = schemas.Failed, "source_unavailable", "the source "+h.Source+" is outside of its window; the file is tried again when that opens"
			if h.Opens.After(w.now) && (opens == nil || h.Opens.Before(*opens)) {
				opens = h.Opens
			}
		default:
			status, exception, message = schemas.Failed, "source_unavailable", "the source "+h.Source+" is in "+h.State+"; the file is tried again later"
		}
	}
	phase := string(schemas.Download)
	if a.Exception != "" && exception == "gone" {
		exception, message, phase = a.Exception, a.Message, a.Phase
	}
	a.Attempt = w.nextAttempt(f, a)
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Acquisition: a.ID, Source: a.Source, Look: a.Look, Job: uuid.Nil.String(), Download: exception, Changed: true}
	w.attempts[control.AttemptKey{Run: t.Run, File: t.File, Attempt: t.Attempt}] = t
	w.endAs(status, f, a, t, phase, exception, message, exception)
	if a.RetryAt != nil && opens != nil {
		a.RetryAt = opens
	}
}

// remind publishes again, with the same ids, the last event of whatever has
// had no news for longer than its budget.
func (p *Planner) remind(ctx context.Context, now time.Time) error {
	var records []schemas.Record
	err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) (err error) {
		records, err = control.Silent(ctx, tx, now.Add(-p.cfg.SilenceBudget.D()), 1000)
		if err != nil || len(records) == 0 {
			return err
		}
		p.deps.Log.Warn("requesting again what has gone silent", "events", len(records), "budget", p.cfg.SilenceBudget.D())
		return p.deps.Outbox.Repeat(ctx, tx, records)
	})
	if err == nil {
		p.metrics.rerequested(records)
	}
	return err
}

// wantAgain requests under a new number what no job holds and nobody has
// answered: what was restored as requested, if its outcome is not kept any more.
func (p *Planner) wantAgain(ctx context.Context, now time.Time) error {
	since := now.Add(-p.cfg.SilenceBudget.D())
	files, err := control.Abandoned(ctx, p.Pool, since, atOnce)
	if err != nil || len(files) == 0 {
		return err
	}
	return pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		if _, err := control.LockFiles(ctx, tx, files); err != nil {
			return err
		}
		n, err := control.WantAgain(ctx, tx, files, since, now)
		if n > 0 {
			p.deps.Log.Warn("requests that no job holds are made again", "files", n, "budget", p.cfg.SilenceBudget.D())
		}
		return err
	})
}
