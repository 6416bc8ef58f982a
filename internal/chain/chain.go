// Package chain is the one rule by which the order of positions proves itself.
// Each record of document.ordered names the digest of the record before it, as
// published. Who reads the order compares: a position that comes again is the
// same record, and the next one names the one that was applied. It shows that
// somebody wrote to the topic, or that control or the topic was restored to an
// older state; it can't prevent either.
package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tributary/schemas"
)

// Digest is the SHA-256 of a record's value, as it is in the topic.
type Digest [sha256.Size]byte

// Of returns the digest of a record's value.
func Of(value []byte) Digest { return sha256.Sum256(value) }

// String is the digest in hexadecimal, as records name it.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText is String, for logs and JSON.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Start is what the record names with which a chain begins: whoever drew it did
// not know the one before, or there was none.
const Start = "0000000000000000000000000000000000000000000000000000000000000000"

// Link is a record of document.ordered, as the chain sees it.
type Link struct {
	Position int64
	Offset   int64
	Digest   Digest
	Previous string // the digest that it names: empty if older programs drew it
}

// LinkOf makes the link of a position that was read from the topic.
func LinkOf(o *schemas.DocumentOrdered, value []byte, offset int64) Link {
	return Link{Position: o.Position, Offset: offset, Digest: Of(value), Previous: o.Previous}
}

// Names of what is wrong with a chain.
const (
	TakenTwice = "position_taken_twice" // a position comes again with another content
	Broken     = "chain_broken"         // a record doesn't name the one before it
)

// BrokenError says which two records contradict each other.
type BrokenError struct {
	Name  string // TakenTwice or Broken
	First Link   // what was applied: of the same position, or of the one before
	Known bool   // whether First's digest and offset are known
	Found Link
	// Rebuild says that First was applied before it was decided that it never was:
	// a warehouse that is made anew goes without it.
	Rebuild bool
}

// WayOn says what whoever meets a record can do at which reading stops.
func WayOn(offset int64) string {
	return fmt.Sprintf("`tributary topics pass-over document.ordered 0 %d --dry-run` shows the ways on", offset)
}

// Error names both records, and says what can be done.
func (e *BrokenError) Error() string {
	way := WayOn(e.Found.Offset)
	if e.Rebuild {
		way = "what was applied is passed over by now, and the warehouse still holds it; run: tributary warehouse rebuild"
	}
	return e.contradiction() + "; " + way
}

func (e *BrokenError) contradiction() string {
	first := fmt.Sprintf("the one at offset %d with the digest %s", e.First.Offset, e.First.Digest)
	if !e.Known {
		first = "another one, of which no digest was kept"
	}
	if e.Name == TakenTwice {
		return fmt.Sprintf("%s: the record of position %d at offset %d has the digest %s, but %s was applied as that position", e.Name, e.Found.Position, e.Found.Offset, e.Found.Digest, first)
	}
	named := "names the digest " + e.Found.Previous
	switch e.Found.Previous {
	case "":
		named = "names no record before it, as older programs write"
	case Start:
		named = "says that the chain begins with it"
	}
	return fmt.Sprintf("%s: the record of position %d at offset %d with the digest %s %s, but the record applied as position %d is %s",
		e.Name, e.Found.Position, e.Found.Offset, e.Found.Digest, named, e.First.Position, first)
}

// Head is how far a reader of the order has come.
type Head struct {
	Last  Link  // applied last; only its position counts if it is not known
	Known bool  // whether Last's digest and offset are known
	Begin int64 // the position with which the chain begins; 0: it has not begun

	// Alt is a record that was passed over as lost: the next one may name it
	// instead of Last. HasAlt says whether there is one since Last; Unread counts
	// those that can't be read.
	Alt    Link
	HasAlt bool
	Unread int64
}

// Next says whether a record comes next: its position does, or it names what was
// passed over. What else is ahead leaves positions out.
func (h *Head) Next(r Link) bool { return r.Position-1 == h.Last.Position || h.fitsAlt(r) }

// Follow takes the record that comes next, or says with a *BrokenError that it
// doesn't fit, and takes nothing.
func (h *Head) Follow(r Link) error {
	fits := h.Begin == 0
	if r.Previous != "" && r.Previous != Start {
		// Before the first position there is nothing to be named.
		fits = !h.Known && h.Last.Position > 0 || h.Known && r.Previous == h.Last.Digest.String()
	}
	if fits = fits && r.Position-1 == h.Last.Position; !fits && !h.fitsAlt(r) {
		return &BrokenError{Name: Broken, First: h.Last, Known: h.Known, Found: r}
	}
	h.move(r)
	return nil
}

// move takes a record. What was passed over before it can't be named any more.
func (h *Head) move(r Link) {
	if h.Begin == 0 && r.Previous != "" {
		h.Begin = r.Position
	}
	h.Last, h.Known = r, true
	h.Forget()
}

// Forget forgets what was passed over.
func (h *Head) Forget() { h.Alt, h.HasAlt, h.Unread = Link{}, false, 0 }

// Repeat judges a record of a position that was applied before; known is whether
// the digest of the first one is. What is not the same is a *BrokenError, but
// before the chain begins, where nothing is proven: there same is false.
func (h *Head) Repeat(first Link, known bool, r Link) (same bool, err error) {
	switch {
	case known && first.Digest == r.Digest:
		return true, nil
	case r.Previous == "" && (h.Begin == 0 || r.Position < h.Begin):
		return false, nil
	}
	return false, &BrokenError{Name: TakenTwice, First: first, Known: known, Found: r}
}
