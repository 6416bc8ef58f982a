package positions

import (
	"fmt"

	"pgregory.net/rapid"

	"tributary/internal/chain"
)

// laws are checked after every step.
func (w *world) laws(t *rapid.T) {
	for _, law := range []func() error{w.lawOneOrder, w.lawSameOrder, w.lawChain, w.lawNothingDisappears} {
		if err := law(); err != nil {
			t.Fatalf("%v\n%s", err, w)
		}
	}
}

// lawOneOrder: positions rise, so none is applied twice.
func (w *world) lawOneOrder() error {
	last := int64(0)
	for _, e := range w.live.all() {
		if e.link.Position <= last {
			return fmt.Errorf("position %d is applied behind %d", e.link.Position, last)
		}
		last = e.link.Position
	}
	return nil
}

// lawSameOrder: who reads the whole log comes to the order to which insert came,
// and stops where it stops. The first difference is a record about which somebody
// decided after it was applied.
func (w *world) lawSameOrder() error {
	whole, _, stopped := w.whole()
	live := w.live.all()
	for i, e := range live {
		if i < len(whole) && whole[i] == e {
			continue
		}
		if !w.late[e.link.Digest] {
			return fmt.Errorf("insert has %+v as its %dth position, and the whole log %+v", e, i+1, whole[i:])
		}
		return nil
	}
	read, here := w.live.read()
	switch {
	case len(w.late) > 0:
		return nil // what is applied already may be the last
	case here && (stopped == nil || stopped.at.Offset != int64(read)):
		return fmt.Errorf("insert stops at offset %d, and who reads the whole log at %+v", read, stopped)
	case read == len(w.log) && !here && (stopped != nil || len(whole) != len(live)):
		return fmt.Errorf("insert comes to the end with %d positions, and who reads the whole log with %d, and stops at %+v", len(live), len(whole), stopped)
	}
	return nil
}

// lawChain: what is applied by whoever reads the whole log, and nobody decided
// about, names the record that was applied as the position before it, or the last
// one since then of which somebody decided that its content is lost; and only as
// many positions are left out as there are lost records that can't be read.
func (w *world) lawChain() error {
	all, _, _ := w.whole()
	for i, e := range all {
		if _, ok := w.decided[e.link.Digest]; ok || i == 0 || all[i-1].begin == 0 && e.link.Position == all[i-1].link.Position+1 {
			continue
		}
		before := all[i-1].link
		last, unreadable := w.lostBetween(before.Offset, e.link.Offset)
		ahead := e.link.Position - before.Position
		if !(e.link.Previous == before.Digest.String() && ahead == 1) &&
			!(e.link.Previous == last.String() && ahead >= 1 && ahead <= 1+unreadable) {
			return fmt.Errorf("%+v is applied behind %+v", e, all[i-1])
		}
	}
	return nil
}

// lostBetween is the last record between two offsets of which somebody decided that
// its content is lost, but for older positions and what was applied; and how many
// can't be read.
func (w *world) lostBetween(from, to int64) (last chain.Digest, unreadable int64) {
	for _, r := range w.log[from+1 : to] {
		if r.readable && r.Position < w.log[from].Position {
			continue
		}
		if d, ok := w.decided[r.Digest]; ok && !d.Missing && d.GoesOn == r.Digest && r.Digest != w.log[from].Digest {
			last = r.Digest
			if !r.readable {
				unreadable++
			}
		}
	}
	return last, unreadable
}

// lawNothingDisappears: what names another record, or was drawn by control, and has
// been read, has exactly one of two ends: it was applied with its content, or
// somebody decided that it doesn't count.
func (w *world) lawNothingDisappears() error {
	content := map[chain.Digest]bool{}
	for _, e := range w.live.all() {
		content[e.link.Digest] = !e.hollow
	}
	read, _ := w.live.read()
	for _, r := range w.log[:read] {
		d, ok := w.decided[r.Digest]
		passed := ok && !d.Missing
		if r.Previous == "" && r.readable {
			continue // as older programs wrote: nothing is proven
		}
		if content[r.Digest] == passed && !w.late[r.Digest] {
			return fmt.Errorf("%+v was read: applied %t, passed over %t", r, content[r.Digest], passed)
		}
	}
	return nil
}
