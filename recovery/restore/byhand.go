package restore

import (
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
	}
}

// due tells whether a file's last acquisition is to be tried again: it failed and time
// may mend that, or it was held, and the file was released.
func (f *file) due(a *control.Acquisition) bool {
	return a.Result == string(schemas.Failed) && mendable(a) || a.Exception == plan.HeldByHand && !f.held.Held()
}
