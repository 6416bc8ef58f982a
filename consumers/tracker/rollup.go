package tracker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tributary/schemas"
)

// shown is a (phase, status) as rows show it, with its reason.
type shown struct {
	Phase, Status int
	Exception     *uuid.UUID
	Message       string
}

// show is the step as rows show it.
func show(s step) shown {
	out := shown{Phase: s.Phase, Status: s.Status, Message: s.Message}
	if s.Exception != "" {
		id := key("exception", s.Exception)
		out.Exception = &id
	}
	if out.Phase == 0 {
		out.Phase, out.Status = schemas.ZipName.ID(), pending
	}
	return out
}

// children sums up the shown documents of an attempt.
type children struct {
	Known, Failed, Open int
	FirstFailed         shown // the document that failed in the earliest phase, then by entry
	LeastPhase          int   // of those that have not failed, the least advanced
	LeastStatus         int
}

// own is what an attempt shows without its documents: control's judgement if
// it failed, else the sum of its accepted outcomes.
func (a *attempt) own() step {
	if a.Final.Phase != 0 {
		return a.Final
	}
	chain := a.chain()
	var out step
	for key, o := range a.Outcomes {
		if shows(key, chain) {
			out = out.join(o.Step)
		}
	}
	return out
}

// chain is the chain of outcomes that is shown: the accepted one. Before
// control has judged, it is the only one there is; of several none.
func (a *attempt) chain() string {
	if a.Accepted != "" {
		return a.Accepted
	}
	var chain string
	for key := range a.Outcomes {
		chain = longer(chain, key)
	}
	for key := range a.Outcomes {
		if !shows(key, chain) {
			return ""
		}
	}
	return chain
}

// accepted is the sum of the outcomes shown that have so many parts.
func (a *attempt) accepted(least, most int) outcome {
	var out outcome
	chain := a.chain()
	for key, o := range a.Outcomes {
		if n := parts(key); n >= least && n <= most && shows(key, chain) {
			out.add(o)
		}
	}
	return out
}

// documents is how many documents the accepted outcome has, or false while
// that is not known.
func (a *attempt) documents() (int, bool) {
	o, ok := a.Outcomes[a.Accepted]
	if !ok || parts(a.Accepted) < 2 || o.Step.Phase != schemas.Unzip.ID() || o.Step.Status != done {
		return 0, false
	}
	return int(o.Rows), true
}

// rollUp is what an attempt shows: its own failure; once unzipped, the
// earliest phase in which a document failed, else the least advanced document.
func rollUp(own step, documents int, known bool, c children) shown {
	switch {
	case own.ended() || own.Phase != schemas.Unzip.ID() || own.Status != done || !known:
		return show(own)
	case c.Failed > 0:
		return c.FirstFailed
	case c.Known < documents || c.Known == 0:
		return show(own)
	}
	return shown{Phase: c.LeastPhase, Status: c.LeastStatus}
}

// attemptRow is what the file's row needs to know of an attempt.
type attemptRow struct {
	id       uuid.UUID
	state    *attempt
	shown    shown
	changed  bool
	children children
}

// notTried is the note of an attempt that was never begun, which costs none.
const notTried = schemas.NotTried

// counts says whether the attempt is one to be counted and shown: it has been
// heard of, and was begun or may yet be.
func (r attemptRow) counts() bool {
	return r.state.Number > 0 && !r.state.Dropped && r.state.own().Phase != 0
}

// latestAttempt is the attempt that a file shows: the one with the greatest
// number, or the one that it repeats; nil before any.
func latestAttempt(rows []attemptRow) *attemptRow {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r attemptRow) bool { return !r.counts() })
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b attemptRow) int {
		return cmp.Or(cmp.Compare(a.state.Number, b.state.Number), strings.Compare(a.state.Run, b.state.Run))
	})
	at := len(rows) - 1
	for {
		repeats := rows[at].state.Repeats
		if repeats <= 0 || repeats >= rows[at].state.Number {
			return &rows[at]
		}
		// Attempts are numbered through all runs, so the number names one. Should
		// several have it, the order of runs decides.
		to := slices.IndexFunc(rows, func(r attemptRow) bool { return r.state.Number == repeats })
		if to < 0 {
			return &rows[at]
		}
		at = to
	}
}

// notes are the notes of the accepted outcomes, in one text.
func (a *attempt) notes() string {
	o := a.accepted(0, 2)
	return strings.Join(o.Notes, ", ")
}

// orNull is nil for the zero value, so that what is absent is null.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func mapOrNull(all map[string]string) any {
	if len(all) == 0 {
		return nil
	}
	return all
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func idOrNull(kind, s string) any {
	if s == "" {
		return nil
	}
	return [16]byte(given(kind, s))
}

// nameOrNull is the id of what has a name: a centre, a source.
func nameOrNull(kind, name string) any {
	if name == "" {
		return nil
	}
	return [16]byte(key(kind, name))
}

func uuidOrNull(id *uuid.UUID) any {
	if id == nil {
		return nil
	}
	return [16]byte(*id)
}

// dateOrNull is a calendar date, null where the text is none.
func dateOrNull(s string) any {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return nil
	}
	return t
}
