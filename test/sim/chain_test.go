//go:build synctests

package sim

import (
	"cmp"
	"slices"
	"time"

	"tributary/internal/chain"
	"tributary/schemas"
)

// lawChain: each position names the digest of the one before, from the first on,
// and one that comes again is the same record.
func (s *sim) lawChain(log []logged) {
	var links []chain.Link
	for _, l := range log {
		if o, ok := l.m.Body.(*schemas.DocumentOrdered); ok {
			links = append(links, chain.LinkOf(o, l.rec.Value, l.rec.Offset))
		}
	}
	slices.SortStableFunc(links, func(x, y chain.Link) int { return cmp.Compare(x.Offset, y.Offset) })
	var judged chain.Log
	for _, l := range links {
		if !judged.Take(l) {
			s.violate("L3", "position %d at offset %d follows %d", l.Position, l.Offset, judged.Head().Last.Position)
			return
		}
	}
	if err := judged.Err(); err != nil {
		s.violate("L3", "%v", err)
	}
	if h := judged.Head(); len(links) > 0 && h.Begin != 1 {
		s.violate("L3", "the chain begins with position %d", h.Begin)
	}
}

// lawHeartbeat: a session that ends finds a position given no longer ago than the
// heartbeat, if only its own, so what contradicts the order is found though nothing comes.
func (s *sim) lawHeartbeat(log []logged) {
	var given []time.Time
	for _, l := range log {
		if _, is := l.m.Body.(*schemas.DocumentOrdered); is {
			given = append(given, l.m.Time)
		}
	}
	for _, x := range s.control.sessions {
		if x.ended && !slices.ContainsFunc(given, func(at time.Time) bool { return !at.After(x.over) && x.over.Sub(at) < heartbeat }) {
			s.violate("L3", "session %d ended at %s without a position within %s", x.number, x.over, heartbeat)
		}
	}
}
