package plan

import (
	"time"

	"github.com/google/uuid"

	"tributary/internal/backoff"
	"tributary/internal/blob"
	"tributary/schemas"
	"tributary/sql/control"
)

// discovered takes up a look that a poll announced, or that a file is gone.
func (w *World) discovered(d schemas.FileDiscovered) {
	f := w.files[d.File]
	if f == nil {
		return
	}
	if d.Change == "gone" {
		// What is gone is already noted at its hosting; a wanted file that no
		// hosting shows any more is ended by the dispatcher.
		w.bereft(f)
		return
	}
	for _, k := range f.looks {
		if k.Source == d.Source && k.Look == d.Look && (k.Class == "announced" || k.Class == "waiting") {
			w.takeUp(f, k)
			return
		}
	}
	// Not announced any more: a repeat of what was taken up before.
}

// takeUp classes a look. Every new look of the producing centre's own source
// is fetched; another source's only while no own hosting can be.
func (w *World) takeUp(f *File, k *control.Look) {
	own, hasOwn := f.ownHosting()
	switch {
	case k.Centre == f.Centre:
		w.startAcquisition(f, k)
	case hasOwn:
		w.pass(f, k, own.Size)
	case k.OwnPolling:
		k.Class = "waiting"
	default:
		for _, a := range f.Acquisitions {
			// Only what another source showed: a new look of the same one is
			// of new bytes, whatever their number.
			if a.Source != k.Source && a.Size == k.Size {
				w.pass(f, k, a.Size)
				return
			}
		}
		w.startAcquisition(f, k)
	}
}

// bereft fetches a file from another hosting when the one for whose sake that
// was passed over is gone before it was ever fetched.
func (w *World) bereft(f *File) {
	if f.Centre == "" || len(f.Acquisitions) > 0 || len(f.looks) > 0 {
		return
	}
	a := &control.Acquisition{
		Run: schemas.LiveRun, File: f.ID, Domain: f.Centre, State: control.Wanted, NotBefore: w.now, Tried: map[string]control.Tried{}, New: true,
	}
	if best := f.Candidates(a); len(best) > 0 {
		a.Source, a.Look, a.Size = best[0].Source, best[0].Look, best[0].Size
		w.begin(f, a)
	}
}

// startAcquisition starts an acquisition for a look, behind those under way.
func (w *World) startAcquisition(f *File, k *control.Look) {
	k.Class = "taken"
	a := &control.Acquisition{
		Run: schemas.LiveRun, File: f.ID, Session: k.Session, Domain: f.Centre, Source: k.Source, Look: k.Look, Size: k.Size,
		State: control.Wanted, NotBefore: w.now, Tried: map[string]control.Tried{}, New: true,
	}
	for _, other := range f.Acquisitions {
		if other.State != control.Ended {
			a.State = control.Queued
		}
		other.RetryAt = nil // a new look replaces trying the old one again
		other.Changed = other.Changed || other.State == control.Ended && !other.New
	}
	w.begin(f, a)
}

// pass classes a look that is not fetched, since another hosting's is. Where that could
// not be, the file is tried again at once: here is somebody who was not asked.
func (w *World) pass(f *File, k *control.Look, size int64) {
	if last := f.newest(); last != nil && last.RetryAt != nil && last.RetryAt.After(w.now) && k.Size == last.Size {
		if _, asked := last.Tried[k.Source]; !asked {
			last.RetryAt, last.Changed = &w.now, true
		}
	}
	note := "duplicate"
	k.Class = "duplicate"
	if k.Size != size {
		k.Class, note = "superseded", "divergent_hosting"
	}
	w.out = append(w.out, passedEvent(f, k, note, w.now))
}

// spoiled reports whether the bytes that the file shows are those of a damaged
// archive, were lost before they had gone through, or were withdrawn by a person: who
// brings them again repeats no success.
func (w *World) spoiled(f *File) bool {
	t := w.shown(f)
	if t == nil {
		return false
	}
	a := f.Acquisition(t.Acquisition)
	return damage(t.Unzip) || a != nil && (withdrawn(a) || a.State == control.Ended && a.Exception == blob.LostName)
}

// shown is the attempt that brought the bytes that the file shows; nil before
// any. A file's attempts are numbered through all runs.
func (w *World) shown(f *File) *control.Attempt {
	for _, a := range f.Acquisitions {
		if t := w.attempts[control.AttemptKey{Run: a.Run, File: f.ID, Attempt: f.CurrentAttempt}]; t != nil {
			return t
		}
	}
	return nil
}

// current is the acquisition that brought the bytes that the file shows; nil
// before any.
func (w *World) current(f *File) *control.Acquisition {
	if t := w.shown(f); t != nil {
		return f.Acquisition(t.Acquisition)
	}
	return nil
}

// unzipped judges what became of an archive.
func (w *World) unzipped(u schemas.UnzipFinished, record schemas.Record) {
	f := w.files[u.File]
	t := w.attempts[control.AttemptKey{Run: u.Run, File: u.File, Attempt: u.Attempt}]
	if f == nil || t == nil || t.Unzip != "" {
		return
	}
	a := f.Acquisition(t.Acquisition)
	if t.Download == "" && a != nil && !withdrawn(a) {
		// It came before the download it belongs to was judged: kept until then.
		t.Early, t.Changed = record.Value, true
		return
	}
	if t.Download != u.Download || a == nil || a.State != control.Received || a.Attempt != u.Attempt {
		return
	}
	w.judgeUnzip(f, a, t, u)
}

func (w *World) judgeUnzip(f *File, a *control.Acquisition, t *control.Attempt, u schemas.UnzipFinished) {
	t.Unzip, t.Early, t.Changed = u.Outcome, nil, true
	a.Changed = true
	outcome := u.Download + "/" + u.Outcome
	if u.Result == schemas.Unzipped {
		a.State, a.Unzip, a.Documents = control.Extracted, u.Outcome, u.Documents
		w.out = append(w.out, acceptedEvent(f, a, t, outcome, w.now))
		return
	}
	if u.Result == schemas.Quarantined || !damage(u.Exception) {
		w.end(f, a, t, string(schemas.Unzip), u.Exception, u.Message, outcome)
		return
	}
	// A damaged archive: another hosting may have it whole.
	tried := a.Tried[t.Source]
	tried.GivenUp, tried.Bad = true, u.SHA256
	a.Tried[t.Source] = tried
	a.Message = u.Exception + ": " + u.Message
	if len(f.Candidates(a)) == 0 || a.Run != schemas.LiveRun && t.Job == uuid.Nil.String() { // a replay of stored bytes is of these
		w.end(f, a, t, string(schemas.Unzip), corrupted, a.Message, outcome)
		return
	}
	a.State, a.NotBefore = control.Wanted, w.now
	w.brings(t.Source).FoundCorrupt()
	w.out = append(w.out, triedAgain(attemptEvent(f, a, t, string(schemas.Unzip), schemas.Failed, u.Exception, u.Message, "", outcome, w.now)))
	w.announceNext(f, a)
}

// end ends an acquisition that failed for good. While a hosting shows the
// file it is tried again, with growing pauses, as often as is set.
func (w *World) end(f *File, a *control.Acquisition, t *control.Attempt, phase, exception, message, outcome string) {
	w.endAs(schemas.Failed, f, a, t, phase, exception, message, outcome)
}

// endAs ends an acquisition as failed or cancelled; only what failed is tried
// again.
func (w *World) endAs(st schemas.Status, f *File, a *control.Acquisition, t *control.Attempt, phase, exception, message, outcome string) {
	if a.Heals != "" {
		w.unhealed(f, a, t, phase, exception, message, outcome)
		return
	}
	a.State, a.Result, a.EndedAt, a.Changed = control.Ended, string(st), &w.now, true
	a.Phase, a.Exception, a.Message = phase, exception, message
	last := a == f.newest() // else a newer look follows; and what a replay failed to do, another may
	if last && st == schemas.Failed && retriable(phase, exception) && (w.retries == 0 || int(a.Retries) < w.retries) {
		at := w.now.Add(backoff.Exponential{Base: w.retry, Max: max(w.retry, 24*time.Hour)}.After(int(a.Retries) + 1))
		a.RetryAt = &at
	} else {
		f.Urgency = control.Urgency{}
	}
	w.out = append(w.out, attemptEvent(f, a, t, phase, st, exception, message, "", outcome, w.now))
}
