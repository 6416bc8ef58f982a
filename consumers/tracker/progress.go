package tracker

import (
	"cmp"
	"time"

	"tributary/schemas"
)

// progress is how far a transfer was when that was told last.
type progress struct {
	At    time.Time `json:"t,omitzero"`
	Bytes int64     `json:"b,omitempty"`
	Rate  int64     `json:"r,omitempty"` // bytes a second
}

// progressOf is what an event tells of it, if anything.
func progressOf(e *schemas.StatusChanged, now time.Time) progress {
	p, ok := schemas.ProgressOf(e)
	if !ok {
		return progress{}
	}
	return progress{now, p.Received, p.Rate}
}

func (p *progress) add(o progress) {
	if cmp.Or(p.At.Compare(o.At), cmp.Compare(p.Bytes, o.Bytes), cmp.Compare(p.Rate, o.Rate)) < 0 {
		*p = o
	}
}

// over tells whether anything says more of the attempt than that it runs. What does
// so stays, so that an attempt that is over remains it, whatever comes late.
func (a *attempt) over() bool {
	if a.Accepted != "" || a.Dropped || a.Final.Phase != 0 {
		return true
	}
	for key, o := range a.Outcomes {
		if key != "" || o.Step.ended() || o.Step.Phase > schemas.Download.ID() || o.Step.Phase == schemas.Download.ID() && o.Step.Status > running {
			return true
		}
	}
	return false
}

// running is how far the transfer is that runs now: nothing if one began after that
// was told, as when its member has died.
func (a *attempt) running() progress {
	if o := a.Outcomes[""]; o == nil || o.Step.At.After(a.Progress.At) {
		return progress{}
	}
	return a.Progress
}
