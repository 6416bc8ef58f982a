package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

const (
	// healAtOnce is about how many damaged blobs one turn decides.
	healAtOnce = 64
	// healFiles is how many files of one blob it looks at.
	healFiles = 64
)

// heal decides about blobs whose stored bytes were found damaged: their bytes are
// fetched again from whatever hosting shows one of their files; once they are
// there, what waits for them is asked for again; and where nobody has them, what
// waits for them ends.
func (p *Planner) heal(ctx context.Context, now time.Time) error {
	for range healAtOnce {
		more := false
		err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
			d, err := control.TakeDamage(ctx, tx, now)
			if more = d != nil; err != nil || d == nil {
				return err
			}
			if d.State == control.DamageFetched {
				return p.healed(ctx, tx, d, now)
			}
			return p.healOrLose(ctx, tx, d, now)
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// healed asks again for the work that waits for a blob.
func (p *Planner) healed(ctx context.Context, tx pgx.Tx, d *control.Damage, now time.Time) error {
	records, err := control.RepeatFor(ctx, tx, d.SHA256)
	if err != nil {
		return err
	}
	p.deps.Log.Info("a damaged blob is healed: a source had its bytes", "blob", d.SHA256, "problem", d.Problem, "goes_on", len(records))
	d.State, d.Message = control.DamageHealed, ""
	if err := control.StoreDamage(ctx, tx, d, now); err != nil {
		return err
	}
	return p.deps.Outbox.Repeat(ctx, tx, records)
}

// healOrLose lets a blob's bytes be fetched, or ends what waits for them.
func (p *Planner) healOrLose(ctx context.Context, tx pgx.Tx, d *control.Damage, now time.Time) error {
	ids, err := control.FilesOf(ctx, tx, d, healFiles)
	if err != nil {
		return err
	}
	w, err := p.load(ctx, tx, ids, now)
	if err != nil {
		return err
	}
	switch {
	case w.refetch(d):
		p.deps.Log.Warn("a blob is damaged: its bytes are fetched again", "blob", d.SHA256, "problem", d.Problem, "found_by", d.FoundBy)
		d.State = control.DamageFetching
	case len(ids) == healFiles:
		d.Tried = slices.Concat(d.Tried, ids) // there are more
	default:
		d.State = control.DamageLost
		if d.LostAt == nil {
			d.LostAt, d.Message = &now, lostMessage(d)
			p.deps.Log.Error("a blob is lost: no source has its bytes any more", "blob", d.SHA256, "problem", d.Problem, "message", d.Message)
		}
		w.lose(d)
	}
	if err := w.Store(ctx, tx); err != nil {
		return err
	}
	return control.StoreDamage(ctx, tx, d, now)
}

// lostMessage says what was tried last, and what to do.
func lostMessage(d *control.Damage) string {
	tried := ""
	if d.Message != "" {
		tried = " (" + d.Message + ")"
	}
	return fmt.Sprintf("the stored bytes are damaged or gone, and no source shows them any more%s: put the right ones in the place of the blob %s, "+
		"or have the file uploaded again; tributary blobs verify --repair looks for them everywhere once more, and tributary replay brings back what has failed", tried, d.SHA256)
}

// refetch starts the acquisition that heals a blob, at a file that some hosting
// shows; false if there is none. It makes no version, whatever it brings.
func (w *World) refetch(d *control.Damage) bool {
	for _, id := range w.order() {
		f := w.files[id]
		if slices.Contains(d.Tried, id) {
			continue
		}
		a := &control.Acquisition{Run: schemas.LiveRun, File: id, Domain: f.Centre, State: control.Wanted, NotBefore: w.now,
			Tried: map[string]control.Tried{}, Heals: d.SHA256, New: true}
		if best := f.Candidates(a); len(best) > 0 {
			a.Source, a.Look, a.Size = best[0].Source, best[0].Look, best[0].Size
			f.add(a)
			return true
		}
	}
	return false
}

// brought judges what was fetched to heal a blob: its bytes, or others, which
// say nothing of it.
func (w *World) brought(f *File, a *control.Acquisition, t *control.Attempt, d schemas.DownloadFinished) {
	if d.SHA256 != a.Heals {
		tried := a.Tried[t.Source]
		tried.GivenUp, tried.Bad = true, d.SHA256
		a.Tried[t.Source] = tried
		message := "the source " + t.Source + " has other bytes now: " + d.SHA256
		a.Phase, a.Exception, a.Message = string(schemas.Download), blob.LostName, message
		if len(f.Candidates(a)) == 0 {
			w.unhealed(f, a, t, a.Phase, a.Exception, message, d.Outcome)
			return
		}
		a.State, a.NotBefore = control.Wanted, w.now
		w.out = append(w.out, besideEvent(f, a, t, a.Phase, a.Exception, message, d.Outcome, w.now))
		w.announceNext(f, a)
		return
	}
	a.State, a.Result, a.EndedAt = control.Ended, control.Duplicate, &w.now
	a.Download, a.SHA256, a.Phase, a.Exception, a.Message = d.Outcome, d.SHA256, "", "", ""
	w.healings = append(w.healings, control.Healing{SHA256: a.Heals, File: f.ID, Healed: true})
	w.out = append(w.out, duplicateEvent(f, a, t, d.Outcome, w.now))
}

// unhealed ends an acquisition that could not heal its blob. The file goes on
// showing what it shows.
func (w *World) unhealed(f *File, a *control.Acquisition, t *control.Attempt, phase, exception, message, outcome string) {
	a.State, a.Result, a.EndedAt, a.Changed = control.Ended, string(schemas.Cancelled), &w.now, true
	a.Phase, a.Exception, a.Message = phase, exception, message
	w.healings = append(w.healings, control.Healing{SHA256: a.Heals, File: f.ID, Message: exception + ": " + message})
	w.out = append(w.out, besideEvent(f, a, t, phase, exception, message, outcome, w.now))
}

// besideEvent tells how an attempt to heal ended that has not: the file goes on
// showing the attempt that it has shown.
func besideEvent(f *File, a *control.Acquisition, t *control.Attempt, phase, exception, message, outcome string, now time.Time) schemas.Message {
	m := attemptEvent(f, a, t, phase, schemas.Cancelled, exception, message, "", outcome, now)
	if body, ok := m.Body.(*schemas.StatusChanged); ok {
		body.Repeats = f.CurrentAttempt
	}
	return m
}

// lose ends what waits for a blob that is lost. None of it is about what the
// bytes hold: nobody has judged those that are left of them.
func (w *World) lose(d *control.Damage) {
	for _, id := range w.order() {
		f := w.files[id]
		for _, a := range slices.Concat(f.Acquisitions, f.shadows) {
			t := w.attempts[control.AttemptKey{Run: a.Run, File: f.ID, Attempt: a.Attempt}]
			if a.SHA256 != d.SHA256 || t == nil {
				continue
			}
			switch a.State {
			case control.Received:
				t.Unzip, t.Early, t.Changed = blob.LostName, nil, true
				w.end(f, a, t, string(schemas.Unzip), blob.LostName, d.Message, a.Download+"/"+blob.LostName)
			case control.Extracted:
				w.end(f, a, t, string(schemas.XSD), blob.LostName, d.Message, a.Download+"/"+a.Unzip)
			}
		}
	}
}
