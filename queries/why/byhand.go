package why

import (
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// held judges a file that a person holds, whatever its sources show.
func (f *Facts) held(a *Answer) {
	h := f.File.Hold
	a.say(Held, "%s waits until it is released: it is %s.", a.File, schemas.Cut(h.Said(), maxText))
	a.proveAt(h.HeldAt, "it is %s", schemas.Cut(h.Said(), maxText))
	if x := f.main(); x != nil && x.Exception == plan.HeldByHand {
		a.proveAt(x.EndedAt, "what was under way of it ended so, in %s (attempt %d, at %s)", x.Phase, x.Attempt, x.Source)
	}
	if f.Look != nil {
		a.proveAt(&f.Look.ListedAt, "%s listed it so first (look %d%s)", f.SourceID, f.Look.Look, inSession(f.Look.Session))
	}
	a.Next = "Once it may go on: tributary files release " + a.File
}

// urgency says who has given the file a priority of its own, and why.
func (f *Facts) urgency(a *Answer) {
	if f.File != nil && f.File.Priority != nil {
		a.prove("it has the priority %d, in place of its source's, until it is fetched: %s", *f.File.Priority, schemas.Cut(f.File.Given(), maxText))
	}
}

// cancelled judges what a person has ended.
func (f *Facts) cancelled(a *Answer, x *control.Fetch) {
	a.say(CancelledByHand, "%s was %s; it is not tried again by itself.", a.File, schemas.Cut(x.Message, maxText))
	a.proveAt(x.EndedAt, "what was under way of it ended in %s (attempt %d, at %s)", x.Phase, x.Attempt, x.Source)
	a.Next = remedy(x.Exception)
}
