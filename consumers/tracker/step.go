package tracker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/schemas"
)

// step is where something stands, as one event or the sum of several says.
// Steps are joined: the join of any events is the same in whatever order and
// however often they come.
type step struct {
	Phase     int       `json:"p,omitempty"` // id of the phase; 0: nothing is known
	Status    int       `json:"s,omitempty"` // id of the status
	Exception string    `json:"x,omitempty"`
	Message   string    `json:"m,omitempty"`
	Total     int32     `json:"n,omitempty"` // errors found
	Digest    string    `json:"d,omitempty"` // of the errors, which are kept in a table of their own
	Version   string    `json:"v,omitempty"` // of what judged, where that is known
	At        time.Time `json:"t,omitzero"`  // of the last event that says exactly this

	errors []schemas.ErrorDetail // only while in memory, from the event
}

const (
	pending   = 1
	running   = 2
	done      = 3
	cancelled = 4
	failed    = 5
)

// unnamed is the exception of a failure that came without one.
const unnamed = "unnamed"

// stepOf is what one event says; unknown names of phase or status say nothing.
func stepOf(e *schemas.StatusChanged, at time.Time) step {
	s := step{Phase: schemas.Phase(e.Phase).ID(), Status: schemas.Status(e.Status).ID(), Version: e.VersionOf, At: at}
	if s.Phase == 0 || s.Status == 0 {
		return step{}
	}
	if s.ended() {
		s.Exception, s.Message = e.Exception, e.Message
		s.errors = sortedErrors(e.Errors)
		if s.Exception == "" && len(s.errors) > 0 {
			s.Exception = s.errors[0].Exception
		}
		if s.Exception == "" && s.Status == failed {
			s.Exception = unnamed // every failure has a name, so that it can be counted
		}
		if s.Message == "" && len(s.errors) > 0 {
			s.Message = s.errors[0].Message
		}
		if e.Entity == schemas.EntityDocument && len(s.errors) == 0 && s.Exception != "" {
			s.errors = []schemas.ErrorDetail{{Exception: s.Exception, Message: s.Message}}
		}
		for i := range s.errors {
			if s.errors[i].Exception == "" {
				s.errors[i].Exception = s.Exception
			}
		}
		s.Digest = digest(s.errors)
		s.Total = max(e.ErrorsTotal, int32(len(s.errors)))
	}
	return s
}

// ended says whether the step is one that sticks: failed or cancelled.
func (s step) ended() bool { return s.Status == failed || s.Status == cancelled }

// compare tells which of two steps counts: failed before cancelled before all
// else; of failures the earliest phase, of the rest the most advanced. What is
// equal in this is told apart by its text, so that the order is total.
func (s step) compare(o step) int {
	if c := cmp.Compare(s.severity(), o.severity()); c != 0 {
		return c
	}
	if s.ended() {
		if c := cmp.Compare(o.Phase, s.Phase); c != 0 {
			return c
		}
	} else if c := cmp.Or(cmp.Compare(s.Phase, o.Phase), cmp.Compare(s.Status, o.Status)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(s.Total, o.Total), cmp.Compare(s.Exception, o.Exception), cmp.Compare(s.Message, o.Message), cmp.Compare(s.Digest, o.Digest),
		cmp.Compare(s.Version, o.Version))
}

func (s step) severity() int {
	switch {
	case s.Phase == 0:
		return 0
	case s.Status == failed:
		return 3
	case s.Status == cancelled:
		return 2
	}
	return 1
}

// join returns the step that counts.
func (s step) join(o step) step {
	switch c := s.compare(o); {
	case c > 0:
		return s
	case c < 0:
		return o
	}
	if o.At.After(s.At) {
		s.At = o.At
	}
	if s.errors == nil {
		s.errors = o.errors
	}
	return s
}

// before returns the step that was said first.
func (s step) before(o step) step {
	switch {
	case o.Phase == 0:
		return s
	case s.Phase == 0:
		return o
	}
	c := cmp.Or(s.At.Compare(o.At), o.compare(s))
	if c > 0 {
		return o
	}
	if c == 0 && s.errors == nil {
		s.errors = o.errors
	}
	return s
}

// sortedErrors are the errors by position, then by text.
func sortedErrors(errors []schemas.ErrorDetail) []schemas.ErrorDetail {
	out := slices.Clone(errors)
	slices.SortFunc(out, func(a, b schemas.ErrorDetail) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Exception, b.Exception), cmp.Compare(a.Message, b.Message))
	})
	return out
}

func digest(errors []schemas.ErrorDetail) string {
	if len(errors) == 0 {
		return ""
	}
	h := sha256.New()
	for _, e := range errors {
		h.Write([]byte(schemas.ID(strconv.Itoa(int(e.Line)), strconv.Itoa(int(e.Column)), e.Exception, e.Message)))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// parts is the number of steps in a chain of outcomes.
func parts(chain string) int {
	if chain == "" {
		return 0
	}
	return strings.Count(chain, "/") + 1
}

// longer returns the longer of two chains of outcomes, and of equally long
// ones the greater.
func longer(a, b string) string {
	if cmp.Or(cmp.Compare(parts(a), parts(b)), cmp.Compare(a, b)) >= 0 {
		return a
	}
	return b
}

// shows says whether what has this outcome is shown when accepted is what
// control accepted.
func shows(outcome, accepted string) bool {
	return outcome == "" || outcome == accepted || strings.HasPrefix(accepted, outcome+"/")
}

// earliest and latest ignore zero times.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// at is an event's time at the resolution at which it is stored.
func at(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func atOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return at(*t)
}
