package chain

import "math"

// Decision is what a person decided about a record of document.ordered at which
// reading stopped (tributary topics pass-over). It holds for the record's bytes.
type Decision struct {
	Missing bool   // the record counts, and what should come before it is lost; else it doesn't count
	GoesOn  Digest // what the record of the next position names
	By      string
	Reason  string
}

// Decided returns what was decided about a record with a digest; false: nothing.
type Decided func(Digest) (Decision, bool)

// of asks for what was decided; nothing is by whoever can't be asked.
func (d Decided) of(digest Digest) (Decision, bool) {
	if d == nil {
		return Decision{}, false
	}
	return d(digest)
}

// Foreign says whether it was decided that a record never was: that another one
// is named by what comes next, and nothing of it counts.
func (d Decided) Foreign(digest Digest) bool {
	decision, ok := d.of(digest)
	return ok && !decision.Missing && decision.GoesOn != digest
}

// About returns what was decided about a record, if it holds where the head
// stands. That records are missing before one says nothing about its repeats, nor
// about one that can't be read: they are judged as if nothing had been decided.
func (h *Head) About(r Link, decided Decided) (Decision, bool) {
	d, ok := decided.of(r.Digest)
	return d, ok && (!d.Missing || h.ahead(r))
}

// ahead says whether a record's position has not been taken, nor passed.
func (h *Head) ahead(r Link) bool {
	return r.Position > h.Last.Position && r.Position < math.MaxInt64
}

// Takes says whether a record that was decided about takes its position.
// Positions before it that nobody has taken are lost by it.
func (h *Head) Takes(r Link, d Decision) bool {
	return (d.Missing || d.GoesOn == r.Digest) && h.ahead(r)
}

// PassOver does with a record what was decided about it, and says whether it
// takes its position; with its content only if the decision is Missing. The
// position is 0 of a record that can't be read.
func (h *Head) PassOver(r Link, d Decision) (takes bool) {
	switch {
	case h.Takes(r, d):
		h.move(r)
		return true
	case h.Known && r.Digest == h.Last.Digest: // what comes next may name it as ever
	case !d.Missing && d.GoesOn == r.Digest && (r.Position <= 0 || r.Position == h.Last.Position):
		if r.Position <= 0 && (!h.HasAlt || h.Alt.Digest != r.Digest) {
			h.Unread++
		}
		h.Alt, h.HasAlt = r, true
	}
	return false
}

// fitsAlt says whether a record names the one that was passed over, and is of the
// position behind it. It is of the position applied last, or can't be read: of those
// nobody knows the positions, which may have been the next ones, and are lost then,
// or some that were applied.
func (h *Head) fitsAlt(r Link) bool {
	if !h.HasAlt || r.Previous != h.Alt.Digest.String() || !h.ahead(r) {
		return false
	}
	return r.Position-h.Last.Position <= 1+h.Unread
}

// GoesOn is where whoever draws positions goes on behind what was read: a position
// that nobody has used, and what its record names.
func (h *Head) GoesOn() (next int64, previous string) {
	switch {
	case h.Unread > 0:
		return h.Last.Position + 1 + h.Unread, h.Alt.Digest.String()
	case h.Known:
		return h.Last.Position + 1, h.Last.Digest.String()
	}
	return h.Last.Position + 1, Start
}
