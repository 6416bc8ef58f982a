//go:build synctests

package sim

import (
	"bytes"
	"slices"

	"tributary/schemas"
)

// lawL5: projections built anew from the log alone equal the live ones. The
// tracker's are built from the end to the beginning, since no column may depend
// on the order of arrival.
func (s *sim) lawL5() {
	t, w := newTracker(s), newWarehouse(s)
	var ordered []*schemas.DocumentOrdered
	for _, l := range slices.Backward(s.history.log) {
		switch b := l.m.Body.(type) {
		case *schemas.StatusChanged:
			if b.Phase != "" {
				t.merge(b)
			}
		case *schemas.DocumentOrdered:
			ordered = append(ordered, b)
		}
	}
	for key, live := range s.tracker.shown {
		if t.shown[key] != live {
			s.violate("L5", "%s is at phase %d, status %d in the tracker, and at %d, %d when it is rebuilt", key, live.phase, live.status, t.shown[key].phase, t.shown[key].status)
		}
	}
	if len(t.shown) != len(s.tracker.shown) || len(t.said) != len(s.tracker.said) {
		s.violate("L5", "the tracker has %d rows of %d events, and %d of %d when it is rebuilt", len(s.tracker.shown), len(s.tracker.said), len(t.shown), len(t.said))
	}
	slices.SortFunc(ordered, func(x, y *schemas.DocumentOrdered) int { return int(x.Position - y.Position) })
	for _, o := range ordered {
		if o.Position == w.next { // the others are repeats
			w.next++
			w.take(o)
		}
	}
	for _, f := range s.scene.files {
		live, rebuilt := s.warehouse.current(f.id()), w.current(f.id())
		for entry := range live {
			if live[entry] != rebuilt[entry] {
				s.violate("L5", "%s of %s is loaded, and not in the same version when the warehouse is rebuilt", entry, f.name)
			}
		}
		if len(live) != len(rebuilt) {
			s.violate("L5", "%s has %d documents in the warehouse, and %d when it is rebuilt", f.name, len(live), len(rebuilt))
		}
	}
}

// puts notes what the scene puts on a server, or takes away.
func (s *sim) puts(v *server, key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data == nil {
		delete(s.hosted, v.name+" "+key)
		return
	}
	s.hosted[v.name+" "+key] = bytes.Clone(data)
}

// lawL7: the servers hold what the scene put there, and nothing else.
func (s *sim) lawL7() {
	found := 0
	for _, v := range s.servers {
		for key, h := range v.files {
			found++
			if !bytes.Equal(h.bytes, s.hosted[v.name+" "+key]) {
				s.violate("L7", "%s is not what the scene put at %s", key, v.name)
			}
		}
	}
	if found != len(s.hosted) {
		s.violate("L7", "the servers hold %d files, and the scene put %d there", found, len(s.hosted))
	}
}
