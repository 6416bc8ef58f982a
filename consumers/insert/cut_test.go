//go:build !race

package insert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/schemas"
)

// TestAnyCutGivesTheSame: of the same positions every row of every table is the
// same, closed findings included, however the positions are cut into
// transactions, and whether batch ends are worked off at once, beside what
// follows of the other centre, or by the next member. A rebuild cuts positions
// in its own way, and is compared row by row.
func TestAnyCutGivesTheSame(t *testing.T) {
	b := newBench(t)
	checks(t, "8")
	rapid.Check(t, func(rt *rapid.T) {
		list := twoCentres(steps(rt))
		events := b.positions(list, rapid.SliceOfN(rapid.Bool(), len(list), len(list)).Draw(rt, "batch ends"))
		blobs := maps.Clone(b.blobs)
		b.must(events...)
		want := b.all()
		for range 2 {
			b.reset()
			maps.Copy(b.blobs, blobs)
			b.cut(rt, events)
			if d := cmp.Diff(want, b.all()); d != "" {
				rt.Fatalf("%v, cut otherwise, gives something else (-uncut +cut):\n%s", list, d)
			}
		}
	})
}

// twoCentres gives some of the files to another centre.
func twoCentres(list []step) []step {
	for _, s := range list {
		for i := range s.docs {
			if d := &s.docs[i]; d.inc == 1 {
				d.centre, d.xml = "G", strings.ReplaceAll(d.xml, `centreID="H"`, `centreID="G"`)
			}
		}
	}
	return list
}

// cut applies positions in transactions as drawn, and works batch ends off as
// late as drawn and allowed.
func (b *bench) cut(t *rapid.T, events []*schemas.DocumentOrdered) {
	e := newBatchEnds(b.in.deps.Mapping.Separate())
	for len(events) > 0 {
		n := rapid.IntRange(1, min(len(events), 8)).Draw(t, "transaction")
		if end := slices.IndexFunc(events[:n], func(ev *schemas.DocumentOrdered) bool { return ev.What == schemas.PositionBatchEnd }); end >= 0 {
			n = end + 1
		}
		var group []*item
		for i, ev := range events[:n] {
			ev := *ev
			ev.Position = b.at.position + int64(i)
			group = append(group, newItem(schemas.Message{ID: fmt.Sprintf("event-%d", ev.Position)}, &ev, 0))
		}
		for e.blocks(group, false) {
			b.finish(t, e)
		}
		if err := b.applyGroup(events[:n]); err != nil {
			t.Fatal(err)
		}
		if last := group[n-1]; last.ev.What == schemas.PositionBatchEnd {
			e.add(last)
		}
		if len(e.queue) > 0 && rapid.IntRange(0, 3).Draw(t, "worked off") == 0 {
			b.finish(t, e)
		}
		events = events[n:]
	}
	if err := b.in.finishEnds(b.t.Context(), b.pool, b.epoch); err != nil {
		t.Fatal(err)
	}
}

// finish works the first batch end off that is due.
func (b *bench) finish(t *rapid.T, e *batchEnds) {
	it := <-e.queue
	if err := b.in.end(b.t.Context(), b.pool, b.epoch, it); err != nil {
		t.Fatal(err)
	}
	e.finished(it)
}
