package positions

import (
	"fmt"
	"strings"

	"tributary/internal/chain"
)

// record is a record of document.ordered.
type record struct {
	chain.Link // of position 0 if it can't be read
	readable   bool
	drawn      int64 // the position that control has drawn with it; 0: nobody drew it
}

// control draws positions. Its outbox is what was drawn and not published.
type control struct {
	next     int64
	previous string
	outbox   []record
}

// world is everything there is. Whoever reads the log has state of its own.
type world struct {
	control control
	older   []control // states to which it can be put back
	log     []record
	holes   bool // something that was drawn was never written
	written int  // how many contents there were, so that each differs

	decided map[chain.Digest]chain.Decision
	// late are the records about which somebody decided when they were in the live
	// warehouse already: only a rebuild can go without them.
	late map[chain.Digest]bool

	live live
}

func newWorld() *world {
	w := &world{control: control{next: 1, previous: chain.Start}, decided: map[chain.Digest]chain.Decision{}, late: map[chain.Digest]bool{}}
	w.live.w = w
	return w
}

// make makes a record with a content that there was not before.
func (w *world) make(position int64, previous string) record {
	w.written++
	value := fmt.Sprintf("%d: %d behind %s", w.written, position, previous)
	return record{Link: chain.Link{Position: position, Digest: chain.Of([]byte(value)), Previous: previous}, readable: true}
}

// garbled is a record as who can't read it sees it.
func (r record) garbled() record {
	r.Position, r.Previous, r.readable = 0, "", false
	return r
}

// draw draws a position, and says how its record will look.
func (w *world) draw(garbled bool) {
	r := w.make(w.control.next, w.control.previous)
	r.drawn = r.Position
	w.control.next, w.control.previous = r.Position+1, r.Digest.String()
	if garbled {
		r = r.garbled()
	}
	w.control.outbox = append(w.control.outbox[:len(w.control.outbox):len(w.control.outbox)], r)
}

// publish writes the oldest of the outbox. A publisher that dies before it has
// noted that writes it again.
func (w *world) publish(dies bool) {
	w.write(w.control.outbox[0])
	if !dies {
		w.control.outbox = w.control.outbox[1:]
	}
}

func (w *world) write(r record) {
	r.Offset = int64(len(w.log))
	w.log = append(w.log, r)
}

// about returns what was decided.
func (w *world) about(d chain.Digest) (chain.Decision, bool) {
	decision, ok := w.decided[d]
	return decision, ok
}

// decide notes a decision; the last one about a record counts. Insert begins
// anew, as it does whenever it has stopped.
func (w *world) decide(d chain.Digest, decision chain.Decision) {
	w.decided[d] = decision
	if !decision.Missing && w.live.holds(d) {
		w.late[d] = true
	}
	w.live.die()
}

// String tells the log, and what was decided about its records.
func (w *world) String() string {
	var out strings.Builder
	short := func(digest string) string { return digest[:min(len(digest), 6)] }
	for _, r := range w.log {
		fmt.Fprintf(&out, "%3d: position %d is %s and names %q", r.Offset, r.Position, short(r.Digest.String()), short(r.Previous))
		if r.drawn > 0 {
			fmt.Fprintf(&out, ", drawn as %d", r.drawn)
		}
		if d, ok := w.decided[r.Digest]; ok {
			fmt.Fprintf(&out, ", missing %t, lost %t", d.Missing, d.GoesOn == r.Digest)
		}
		if w.late[r.Digest] {
			out.WriteString(", decided late")
		}
		out.WriteString("\n")
	}
	return out.String()
}
