package positions

import (
	"pgregory.net/rapid"

	"tributary/internal/chain"
)

// What a person can decide.
const (
	foreign      = "it never was"
	lost         = "its content is lost"
	missing      = "what is before it is missing"
	firstForeign = "the one that was applied never was"
)

// ways are what can be decided about a record at which reading has stopped.
func (s *stop) ways() []string {
	out := []string{foreign, lost}
	if s.at.readable && s.at.Position >= s.next {
		out = append(out, missing)
	}
	if s.broken != nil && s.broken.Name == chain.TakenTwice && s.broken.Known {
		out = append(out, firstForeign)
	}
	return out
}

// rebuilds says whether only a rebuild goes on: what was applied is passed over.
func (w *world) rebuilds(s *stop) bool {
	return s.broken != nil && s.broken.Known && chain.Decided(w.about).Foreign(s.broken.First.Digest)
}

// passOver decides about a stop in one of the ways.
func (w *world) passOver(s *stop, way string) {
	d := chain.Decision{GoesOn: chain.Of([]byte("another"))}
	about := s.at.Digest
	switch way {
	case lost:
		d.GoesOn = about
	case missing:
		d.Missing = true
	case firstForeign:
		about = s.broken.First.Digest
	}
	w.decide(about, d)
}

// wayOn lets a person who may be wrong find a way on from a stop.
func (w *world) wayOn(t *rapid.T, s *stop) {
	if !w.rebuilds(s) {
		w.passOver(s, rapid.SampledFrom(s.ways()).Draw(t, "decided"))
		return
	}
	refused, err := w.rebuild()
	if err != nil {
		t.Fatalf("a log that doesn't contradict itself can't be rebuilt from: %v", err)
	}
	if refused != nil {
		w.passOver(refused, rapid.SampledFrom(refused.ways()).Draw(t, "decided about what rebuild refuses"))
	}
}
