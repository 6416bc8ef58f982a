package plan

import (
	"maps"
	"slices"
	"time"

	"tributary/schemas"
	"tributary/sql/control"
)

// The exceptions of what a person has ended.
const (
	HeldByHand      = "held_by_hand"
	CancelledByHand = "cancelled_by_hand"
)

// withdrawn tells whether a person has ended an acquisition.
func withdrawn(a *control.Acquisition) bool {
	return a.State == control.Ended && (a.Exception == HeldByHand || a.Exception == CancelledByHand)
}

// begin begins an acquisition of the live run, with its file's priority. That of a file which a person holds
// has ended by that: so every look that is held back is told of, and its batch does
// not wait for it.
func (w *World) begin(f *File, a *control.Acquisition) {
	a.Priority = f.Priority
	f.Acquisitions = append(f.Acquisitions, a)
	if f.Held() {
		w.endByHand(f, a, HeldByHand, f.Said())
	}
}

// Withdraw ends whatever of a file is under way or waits, shadows' attempts too, and
// what is complete and outstanding, without positions (control.Outstanding). It
// returns how many acquisitions these are. What fetches a damaged blob again goes on,
// since it brings no version.
func (w *World) Withdraw(f *File, exception, message string, outstanding map[int64]bool) (ended int) {
	for _, k := range f.looks {
		k.OwnPolling = false
		w.takeUp(f, k)
	}
	if last := f.newest(); last != nil && last.RetryAt != nil {
		last.RetryAt, last.Changed = nil, true
		w.begin(f, w.again(f, last))
	}
	for _, a := range slices.Concat(f.Acquisitions, f.shadows) {
		if a.State != control.Ended || a.Result == control.Complete && outstanding[a.ID] {
			w.endByHand(f, a, exception, message)
			ended++
		}
	}
	return ended
}

// endByHand ends an acquisition as a person has ordered. Outcomes of it that come
// later are not accepted; that of a download still returns its job's credit.
func (w *World) endByHand(f *File, a *control.Acquisition, exception, message string) {
	phase, outcome := schemas.Download, exception
	t := w.attempts[control.AttemptKey{Run: a.Run, File: f.ID, Attempt: a.Attempt}]
	switch a.State {
	case control.Requested:
		t.Early, t.Changed = nil, true
	case control.Received:
		phase, outcome = schemas.Unzip, a.Download+"/"+exception
		t.Unzip, t.Early, t.Changed = exception, nil, true
	case control.Extracted, control.Ended:
		phase, outcome = schemas.XSD, a.Download+"/"+a.Unzip
	default: // nobody was asked for it
		a.Attempt = w.nextAttempt(f, a)
		t = &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Source: a.Source, Look: a.Look}
	}
	a.State, a.Result, a.EndedAt, a.RetryAt, a.Changed = control.Ended, string(schemas.Cancelled), &w.now, nil, true
	a.Phase, a.Exception, a.Message = string(phase), exception, message
	f.Urgency = control.Urgency{}
	w.out = append(w.out, attemptEvent(f, a, t, string(phase), schemas.Cancelled, exception, message, "", outcome, w.now))
}

// Placed is the version that a file shows, if nothing of it is under way and it has
// its positions; nil if it has none.
func (f *File) Placed(outstanding map[int64]bool) *control.Acquisition {
	for _, a := range slices.Backward(f.Acquisitions) {
		switch {
		case a.Result == control.Duplicate:
		case a.Result == control.Complete && !outstanding[a.ID]:
			return a
		default:
			return nil
		}
	}
	return nil
}

// Released is what the release of a file, or an order to try it again, has begun.
type Released int

// What such an order has begun.
const (
	Nothing Released = iota // nothing of the file was held back, or waits to be tried again
	Begun                   // what it shows is to be fetched
	Later                   // it is once a source of it is available
	Gone                    // no source shows it any more
)

// Release takes up what a file shows that was held, as a late file, if something of
// it was held back. The caller stores that it is not held any more.
func (w *World) Release(f *File) Released {
	f.Hold = control.Hold{}
	last := f.newest()
	if last == nil || !f.heldBack() {
		return Nothing
	}
	return w.anew(f, last)
}

// anew begins a file's newest acquisition, which has ended, anew.
func (w *World) anew(f *File, last *control.Acquisition) Released {
	last.RetryAt, last.Changed = &w.now, true
	w.retryFile(f)
	switch {
	case f.newest() != last:
		return Begun
	case last.RetryAt != nil:
		return Later
	}
	return Gone
}

// Retry begins at once what waits to be tried again, whenever that would have been;
// Nothing: nothing does.
func (w *World) Retry(f *File) Released {
	last := f.newest()
	switch {
	case last == nil || f.active() != nil && f.active() != last:
		return Nothing
	case last.State == control.Wanted && last.NotBefore.After(w.now):
		last.NotBefore, last.Changed = w.now, true
		return Begun
	case last.RetryAt != nil || last.State == control.Ended && last.Result == string(schemas.Failed) && retriable(last.Phase, last.Exception):
		return w.anew(f, last)
	}
	return Nothing
}

// heldBack tells whether the file's newest version is one that was held.
func (f *File) heldBack() bool {
	for _, a := range slices.Backward(f.Acquisitions) {
		if a.Run == schemas.LiveRun && a.Result != control.Duplicate {
			return a.Exception == HeldByHand
		}
	}
	return false
}

// The notes of what people order about files.
const (
	NoteHeld      = "held"
	NoteReleased  = "released"
	NoteCancelled = "cancelled"
	NotePriority  = "priority"
	NoteRetried   = "retried"
)

// Waiting is what waits of a file to be fetched.
type Waiting int

// What waits of a file.
const (
	NothingWaits Waiting = iota
	BytesCame            // they have come, and are worked on
	LookWaits            // what a source shows of it, which is not taken up yet
	FetchWaits           // it is to be requested, now or later
	JobWaits             // a job asks for it
)

// Waits is what waits of a file to be fetched, shadows' attempts and what heals blobs
// aside.
func (f *File) Waits() (most Waiting) {
	for _, k := range f.looks {
		if k.Class == "announced" || k.Class == "waiting" {
			most = LookWaits
		}
	}
	if last := f.newest(); last != nil && last.RetryAt != nil {
		most = FetchWaits
	}
	for _, a := range f.Acquisitions {
		switch a.State {
		case control.Queued, control.Wanted:
			most = max(most, FetchWaits)
		case control.Requested:
			most = JobWaits
		case control.Received, control.Extracted:
			most = max(most, BytesCame)
		}
	}
	return most
}

// Prioritise gives a file a priority of its own, and all of it that waits.
func (f *File) Prioritise(u control.Urgency) {
	f.Urgency = u
	for _, a := range f.Acquisitions {
		if a.State != control.Ended {
			a.Priority, a.Changed = u.Priority, true
		}
	}
}

// Ordered tells who has ordered what about a file, and why, and in the given
// attributes what has come of it. It has no phase: how the file stands is told by its
// attempts.
func Ordered(f *File, note, message string, d control.Decision, attributes map[string]string) schemas.Message {
	told := map[string]string{"by": d.By, "reason": d.Reason}
	maps.Copy(told, attributes)
	return Status(schemas.EventID(Stage, schemas.LiveRun, f.ID, note, d.At.UTC().Format(time.RFC3339Nano)), f.ID, f.Subject(), d.At, &schemas.StatusChanged{
		Scope: schemas.Scope{Run: schemas.LiveRun, Centre: f.Centre}, FileRef: f.Ref(), Entity: schemas.EntityFile, Note: note, Message: message,
		Attributes: told,
	})
}
