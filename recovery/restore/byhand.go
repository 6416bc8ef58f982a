package restore

import (
	"strconv"
	"time"

	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// withdrawn tells the exceptions of what a person has ended: also of what had been
// accepted before.
func withdrawn(exception string) bool {
	return exception == plan.HeldByHand || exception == plan.CancelledByHand
}

// byHand takes what a person has ordered about the file. The events of one file come
// in their order.
func (f *file) byHand(at time.Time, e *schemas.StatusChanged) {
	switch e.Note {
	case plan.NoteHeld:
		f.held = control.Hold{HeldAt: &at, HeldBy: e.Attributes["by"], HeldWhy: e.Attributes["reason"]}
	case plan.NoteReleased:
		f.held = control.Hold{}
	case plan.NotePriority:
		if p, err := strconv.Atoi(e.Attributes["priority"]); err == nil && p >= 0 && p <= control.MostPriority {
			f.urgency = control.Urgency{Priority: &p, PriorityBy: e.Attributes["by"], PriorityWhy: e.Attributes["reason"]}
		}
	}
}

// ended forgets a file's priority once plan has told that bytes of it came, or that
// what fetched it has ended, unless time may mend that.
func (f *file) ended(e *schemas.StatusChanged) {
	fetching := e.Note == schemas.NotTried || e.Status == string(schemas.Failed) && mendable(e.Phase, e.Exception)
	if e.Accepted != "" && !fetching {
		f.urgency = control.Urgency{}
	}
}

// due tells whether a file's last acquisition is to be tried again: it failed and time
// may mend that, or it was held, and the file was released.
func (f *file) due(a *control.Acquisition) bool {
	return a.Result == string(schemas.Failed) && mendable(a.Phase, a.Exception) || a.Exception == plan.HeldByHand && !f.held.Held()
}
