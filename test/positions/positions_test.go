package positions

import (
	"testing"

	"pgregory.net/rapid"

	"tributary/internal/chain"
)

// honest is what happens where nobody forges, loses or decides anything.
func (w *world) honest() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": w.laws,
		"draw": func(*rapid.T) {
			w.older = append(w.older, w.control)
			w.draw(false)
		},
		"publish": func(t *rapid.T) {
			if len(w.control.outbox) == 0 {
				t.Skip("nothing to publish")
			}
			w.publish(rapid.IntRange(0, 3).Draw(t, "dies") == 0)
		},
		"read": func(*rapid.T) { w.live.step() },
		"apply": func(t *rapid.T) {
			if w.live.reading == nil || len(w.live.reading.ahead) == 0 {
				t.Skip("nothing was read")
			}
			w.live.apply(rapid.IntRange(1, len(w.live.reading.ahead)).Draw(t, "positions"))
		},
		"die":     func(*rapid.T) { w.live.die() },
		"restore": func(*rapid.T) { w.restore() },
	}
}

// hostile is everything else.
func (w *world) hostile() map[string]func(*rapid.T) {
	all := w.honest()
	all["draw what nobody can read"] = func(*rapid.T) { w.draw(true) }
	all["lose"] = func(t *rapid.T) {
		if len(w.control.outbox) == 0 {
			t.Skip("nothing to lose")
		}
		w.control.outbox, w.holes = w.control.outbox[1:], true
	}
	all["be put back"] = func(t *rapid.T) {
		if len(w.older) == 0 {
			t.Skip("there is no older state")
		}
		w.holes = w.holes || len(w.control.outbox) > 0
		w.control = rapid.SampledFrom(w.older).Draw(t, "state")
	}
	all["forge"] = func(t *rapid.T) { w.write(w.forged(t)) }
	all["repeat"] = func(t *rapid.T) {
		if len(w.log) == 0 {
			t.Skip("nothing was written")
		}
		w.write(rapid.SampledFrom(w.log).Draw(t, "record"))
	}
	all["decide"] = func(t *rapid.T) {
		if w.live.reading == nil || w.live.reading.stop == nil {
			t.Skip("insertion has not stopped")
		}
		w.wayOn(t, w.live.reading.stop)
	}
	return all
}

// forged is a record that nobody drew: garbage, or one of about the next position,
// which names what is there.
func (w *world) forged(t *rapid.T) record {
	if rapid.IntRange(0, 3).Draw(t, "garbage") == 0 {
		return w.make(0, "").garbled()
	}
	names := []string{"", chain.Start, chain.Of([]byte("nothing")).String(), w.control.previous}
	last := int64(0)
	for _, r := range w.log[max(0, len(w.log)-4):] {
		names = append(names, r.Digest.String())
		last = max(last, r.Position)
	}
	return w.make(max(1, last+rapid.Int64Range(-2, 3).Draw(t, "behind the last")), rapid.SampledFrom(names).Draw(t, "names"))
}

// Without decisions no genuine history stops, whoever dies and whatever is repeated.
func TestAGenuineHistoryNeverStops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		all := w.honest()
		all[""] = func(t *rapid.T) {
			w.laws(t)
			if s := w.live.reading; s != nil && s.stop != nil {
				t.Fatalf("insertion stops at %+v", s.stop)
			}
			if _, _, stopped := w.whole(); stopped != nil {
				t.Fatalf("who reads the whole log stops at %+v", stopped)
			}
		}
		t.Repeat(all)
	})
}

// Whatever happens and whatever is decided, the laws hold, and there is a way on.
func TestThereIsAlwaysAWayOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(w.hostile())
		w.toTheEnd(t, 2*len(w.log))
		w.catchUp(t)
		if rapid.Bool().Draw(t, "restored") {
			if s := w.restore(); s != nil {
				t.Fatalf("control can't be restored from a log that is read to its end: %+v", s)
			}
			w.usesNoneAgain(t)
			w.goesOn(t)
			return
		}
		w.goesOnBehind(t)
	})
}

// toTheEnd reads the log to its end, with as many decisions at most.
func (w *world) toTheEnd(t *rapid.T, decisions int) {
	for before := len(w.decided); ; {
		s := w.toAStop(t)
		if s == nil {
			return
		}
		if decisions--; decisions < 0 {
			t.Fatalf("insertion still stops, at %+v; %d decisions were made before", s, before)
		}
		w.wayOn(t, s)
		w.laws(t)
	}
}

// toAStop reads on, to the end or to a stop, and applies what was read.
func (w *world) toAStop(t *rapid.T) *stop {
	w.live.step()
	for s := w.live.reading; s.stop == nil && s.cursor < len(w.log); {
		w.live.step()
	}
	w.laws(t)
	w.live.apply(len(w.live.reading.ahead))
	return w.live.reading.stop
}

// catchUp rebuilds the live warehouse until it is what the log gives.
func (w *world) catchUp(t *rapid.T) {
	for range 2*len(w.log) + 1 {
		refused, err := w.rebuild()
		switch {
		case err != nil:
			t.Fatalf("a log that doesn't contradict itself can't be rebuilt from: %v", err)
		case refused != nil:
			w.passOver(refused, rapid.SampledFrom(refused.ways()).Draw(t, "decided about what rebuild refuses"))
			continue
		}
		s := w.toAStop(t)
		if s == nil {
			return
		}
		w.passOver(s, rapid.SampledFrom(s.ways()).Draw(t, "decided"))
	}
	t.Fatal("a rebuilt warehouse doesn't come to the end")
}

// usesNoneAgain: the next position of a control that was restored was not drawn
// before, as long as the log shows all that was drawn, nobody said of it that it
// never was, and nothing else was applied in its place.
func (w *world) usesNoneAgain(t *rapid.T) {
	drawn := map[int64]chain.Digest{}
	for _, r := range w.log {
		if r.drawn > 0 && chain.Decided(w.about).Foreign(r.Digest) {
			return
		}
		if r.drawn > 0 {
			drawn[r.drawn] = r.Digest
		}
	}
	for _, e := range w.live.all() {
		if drawn[e.link.Position] != e.link.Digest {
			return
		}
	}
	for position := range drawn {
		if !w.holes && position >= w.control.next {
			t.Fatalf("control goes on with position %d, and %d was drawn\n%s", w.control.next, position, w)
		}
	}
}

// goesOn: a control that was restored draws positions that are applied, and nobody
// has to decide anything, but once about what nobody can read.
func (w *world) goesOn(t *rapid.T) {
	for i := range 4 {
		if i == 1 {
			w.draw(true)
			w.publish(false)
			s := w.toAStop(t)
			if s == nil {
				t.Fatal("what nobody can read doesn't stop insertion")
			}
			w.passOver(s, lost)
		}
		w.draw(false)
		w.publish(false)
		if s := w.toAStop(t); s != nil {
			t.Fatalf("what a restored control draws stops insertion: %+v", s)
		}
		w.isApplied(t)
	}
}

// goesOnBehind: so does one that was not, as soon as it is behind what was applied;
// one decision brings it there, and until then one for each position.
func (w *world) goesOnBehind(t *rapid.T) {
	w.control.outbox = nil
	last := w.live.reading.head.Last.Position
	decisions := max(last-w.control.next+1, 1)
	for range decisions + 3 {
		w.draw(false)
		w.publish(false)
		s := w.toAStop(t)
		if s == nil {
			continue
		}
		if decisions--; decisions < 0 {
			t.Fatalf("insertion still stops, at %+v", s)
		}
		way := lost
		if s.at.Position >= s.next {
			way = missing
		}
		w.passOver(s, way)
		if s := w.toAStop(t); s != nil {
			t.Fatalf("insertion stops where it was decided that it goes on: %+v", s)
		}
	}
	w.isApplied(t)
}

// isApplied: the last position that was drawn is applied, with its content.
func (w *world) isApplied(t *rapid.T) {
	all := w.live.all()
	if e := all[len(all)-1]; e.link.Position != w.control.next-1 || e.link.Digest.String() != w.control.previous || e.hollow {
		t.Fatalf("position %d is drawn, and %+v applied last", w.control.next-1, e)
	}
}
