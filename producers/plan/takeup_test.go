//go:build !race

package plan

import (
	"testing"

	"tributary/schemas"
	"tributary/sql/control"
)

// Every new look of the producing centre's own source is fetched, another
// source's only while no own hosting can be; others are duplicate if the size
// is equal, else superseded and noted divergent.
func TestLooksAreClassed(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(s *scene)
		source  string
		size    int64
		polling bool
		class   string
		note    string
		taken   int // acquisitions afterwards
	}{
		{name: "own source", source: own, size: 10, class: "taken", taken: 1},
		{name: "own source, though its other sources are still being polled", source: own, size: 10, polling: true, class: "taken", taken: 1},
		{name: "other source and no own one", source: other, size: 10, class: "taken", taken: 1},
		{name: "other source while the own one is being polled", source: other, size: 10, polling: true, class: "waiting"},
		{name: "other source beside an own hosting of equal size", prepare: func(s *scene) { s.host(own, 10) }, source: other, size: 10, class: "duplicate", note: "duplicate"},
		{name: "other source beside an own hosting of another size", prepare: func(s *scene) { s.host(own, 11) }, source: other, size: 10, class: "superseded", note: "divergent_hosting"},
		{name: "an own hosting decides even while another own source is polled", prepare: func(s *scene) { s.host(own, 10) }, source: other, size: 10, polling: true, class: "duplicate", note: "duplicate"},
		{name: "an own hosting that is gone does not count", prepare: func(s *scene) { s.host(own, 10).Present = false }, source: other, size: 10, class: "taken", taken: 1},
		{name: "nor does one whose source is not available", prepare: func(s *scene) { s.host(own, 10).State = "maintenance" }, source: other, size: 10, class: "taken", taken: 1},
		{name: "second other source of equal size", prepare: func(s *scene) { s.show(third, 10) }, source: other, size: 10, class: "duplicate", note: "duplicate", taken: 1},
		{name: "second other source of another size", prepare: func(s *scene) { s.show(third, 11) }, source: other, size: 10, class: "taken", taken: 2},
		{name: "the own source again, same size", prepare: func(s *scene) { s.show(own, 10) }, source: own, size: 10, class: "taken", taken: 2},
		{name: "the other source again, other size", prepare: func(s *scene) { s.show(other, 11) }, source: other, size: 10, class: "taken", taken: 2},
		{name: "the other source again, same size but a new look", prepare: func(s *scene) { s.show(other, 10) }, source: other, size: 10, class: "taken", taken: 2},
		{name: "the other source shows its first bytes again", prepare: func(s *scene) { s.show(other, 10); s.show(other, 11) }, source: other, size: 10, class: "taken", taken: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			if tt.prepare != nil {
				tt.prepare(s)
			}
			s.w.out = nil
			s.host(tt.source, tt.size)
			k := s.announce(tt.source, tt.polling)
			if k.Class != tt.class || len(s.f.Acquisitions) != tt.taken {
				t.Fatalf("look is %q with %d acquisitions; want %q with %d", k.Class, len(s.f.Acquisitions), tt.class, tt.taken)
			}
			if tt.note == "" {
				if len(s.w.out) != 0 {
					t.Errorf("%d events for a look that is %s", len(s.w.out), tt.class)
				}
				return
			}
			e := s.event(schemas.EntityHosting)
			if e.Note != tt.note || e.Source != tt.source || e.Look != k.Look || e.FileSize != tt.size || e.Attributes["state"] != "present" {
				t.Errorf("event is %+v", e)
			}
		})
	}
}

func TestALookIsTakenUpOnce(t *testing.T) {
	s := newScene(t)
	k := s.show(own, 10)
	for range 2 {
		s.w.discovered(schemas.FileDiscovered{FileRef: s.f.Ref(), Scope: schemas.Scope{Source: own}, Change: "new", Look: k.Look, Size: 10})
	}
	if len(s.f.Acquisitions) != 1 {
		t.Fatalf("a repeated announcement makes %d acquisitions", len(s.f.Acquisitions))
	}
}

func TestAWaitingLookGoesByTheOwnSource(t *testing.T) {
	s := newScene(t)
	s.host(other, 10)
	k := s.announce(other, true)
	s.host(own, 10)
	s.announce(own, false)
	k.OwnPolling = false
	s.w.takeUp(s.f, k)
	if k.Class != "duplicate" || len(s.f.Acquisitions) != 1 || s.f.Acquisitions[0].Source != own {
		t.Fatalf("the waiting look is %q, %d acquisitions", k.Class, len(s.f.Acquisitions))
	}
}

func TestGoneAndUnknownAnnouncementsTakeNothing(t *testing.T) {
	s := newScene(t)
	k := s.show(own, 10)
	s.complete(s.from(own), "sha-1")
	s.w.discovered(schemas.FileDiscovered{FileRef: s.f.Ref(), Scope: schemas.Scope{Source: own}, Change: "gone", Look: k.Look})
	s.w.discovered(schemas.FileDiscovered{FileRef: schemas.FileRef{File: schemas.FileID("add", "unknown.zip")}, Change: "new", Look: 1})
	if len(s.f.Acquisitions) != 1 {
		t.Fatalf("%d acquisitions", len(s.f.Acquisitions))
	}
}

// Another source's look that was passed over for the own hosting's sake is
// fetched when that goes before it was ever announced.
func TestTheOwnHostingGoesBeforeItSettled(t *testing.T) {
	s := newScene(t)
	s.host(own, 10).Settled = false
	if k := s.show(other, 10); k.Class != "duplicate" || len(s.f.Acquisitions) != 0 {
		t.Fatalf("the look is %s, %d acquisitions", k.Class, len(s.f.Acquisitions))
	}
	gone := schemas.FileDiscovered{FileRef: s.f.Ref(), Scope: schemas.Scope{Source: own}, Change: "gone", Look: 1}
	s.hosting(own).Present = false
	for range 2 {
		s.w.discovered(gone)
		s.commit()
	}
	if len(s.f.Acquisitions) != 1 {
		t.Fatalf("%d acquisitions", len(s.f.Acquisitions))
	}
	s.complete(s.from(other), "sha-1")
	s.ended(control.Complete, "", "")

	// Nothing of the kind for a name that breaks the convention.
	s = newScene(t)
	s.f.Centre = ""
	s.host(other, 10)
	s.host(own, 10).Present = false
	s.w.discovered(gone)
	if len(s.f.Acquisitions) != 0 {
		t.Fatal("a file with a bad name is fetched")
	}
}

// What is found while an earlier look is under way follows it, in order.
func TestLooksOfOneFileFollowEachOther(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	first := s.from(own)
	s.show(own, 11)
	s.show(own, 12)
	if s.request() != nil {
		t.Fatal("a second look is requested while the first is under way")
	}
	var states []string
	for _, a := range s.f.Acquisitions {
		states = append(states, a.State)
	}
	if len(states) != 3 || states[1] != control.Queued || states[2] != control.Queued {
		t.Fatalf("states are %v", states)
	}
	s.complete(first, "sha-1")
	if a := s.f.active(); a == nil || a.Size != 11 {
		t.Fatalf("after the first comes %+v", a)
	}
}
