package traces

import "time"

// stretch is over how many offsets of a partition an edge is remembered at least;
// at most it is twice as many.
const stretch = 20_000

// memory is what a partition's newest records say that later ones complete. It is a
// function of the offset and of the records of this stretch and the one before it,
// so that whoever reads on from an offset makes the spans that the one before would
// have made.
type memory struct {
	number int64 // of the stretch
	recent known
	before known
}

// known are the waits of which one edge was seen at least, and who made the root
// of a trace, by span.
type known struct {
	waits map[[8]byte]interval
	roots map[[8]byte]string // the event's id
}

// interval is when a wait began and ended; zero: not seen.
type interval struct{ from, to time.Time }

func newKnown() known {
	return known{waits: map[[8]byte]interval{}, roots: map[[8]byte]string{}}
}

func newMemory(offset int64) *memory {
	return &memory{number: offset / stretch, recent: newKnown(), before: newKnown()}
}

// from is the first offset of which a memory at the offset knows.
func from(offset int64) int64 { return max(0, (offset/stretch-1)*stretch) }

// at forgets what is too old for an offset.
func (m *memory) at(offset int64) {
	switch n := offset / stretch; {
	case n == m.number+1:
		m.number, m.before, m.recent = n, m.recent, newKnown()
	case n > m.number:
		m.number, m.before, m.recent = n, newKnown(), newKnown()
	}
}

// spans are those that an event makes together with what is remembered. Of what
// several events say of an edge, the first counts.
func (m *memory) spans(event string, t observation) []span {
	out := t.spans
	if r := t.root; r != nil {
		by, seen := m.before.roots[r.id]
		if !seen {
			by, seen = m.recent.roots[r.id]
		}
		if !seen {
			m.recent.roots[r.id] = event
		}
		if !seen || by == event {
			out = append(out, *r)
		}
	}
	for _, e := range t.edges {
		w, seen := m.before.waits[e.wait.id]
		if !seen {
			w = m.recent.waits[e.wait.id]
		}
		said := !e.from.IsZero() && (w.from.IsZero() || w.from.Equal(e.from)) || !e.to.IsZero() && (w.to.IsZero() || w.to.Equal(e.to))
		if w.from.IsZero() {
			w.from = e.from
		}
		if w.to.IsZero() {
			w.to = e.to
		}
		if seen {
			m.before.waits[e.wait.id] = w
		} else {
			m.recent.waits[e.wait.id] = w
		}
		// Where two machines' clocks differ by more than the wait, there is none to show.
		if said && !w.from.IsZero() && w.from.Before(w.to) {
			e.wait.start, e.wait.end = w.from, w.to
			out = append(out, e.wait)
		}
	}
	return out
}
