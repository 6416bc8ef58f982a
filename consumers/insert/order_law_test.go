//go:build !race

package insert

import (
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checks sets how many cases a property with a database is tried on, unless
// -rapid.checks asks for more, as make properties does.
func checks(t *testing.T, n string) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := flag.Set("rapid.checks", n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.checks", f.DefValue) })
}

// TestAnyOrderGivesTheSame is law L2: current rows, open findings and their
// numbers, context and overview follow from the set of versions, withdrawals
// and unloads, whatever order they came in and however they were cut.
func TestAnyOrderGivesTheSame(t *testing.T) {
	b := newBench(t)
	checks(t, "6")
	rapid.Check(t, func(rt *rapid.T) {
		list := steps(rt)
		want := b.run(rt, list)
		for range 2 {
			order := rapid.Permutation(list).Draw(rt, "order")
			if d := cmp.Diff(want, b.run(rt, order)); d != "" {
				rt.Fatalf("the order %v gives something else (-first +this):\n%s", order, d)
			}
		}
	})
}

// TestUnloadRestores: what is unloaded was never there, but for the history.
func TestUnloadRestores(t *testing.T) {
	b := newBench(t)
	checks(t, "6")
	rapid.Check(t, func(rt *rapid.T) {
		var list, without []step
		for _, s := range steps(rt) {
			if s.unload == nil {
				list = append(list, s)
			}
		}
		gone := list[rapid.IntRange(0, len(list)-1).Draw(rt, "unloaded")]
		if gone.docs == nil {
			return // the reference
		}
		of := gone.docs[0]
		for _, s := range list {
			if s.docs == nil || s.docs[0].action != of.action || s.docs[0].inc != of.inc || s.docs[0].rank != of.rank {
				without = append(without, s)
			}
		}
		never := func(state []string) []string {
			return state[:len(state)-len(b.texts("SELECT FROM warehouse.document"))]
		}
		want := never(b.run(rt, without))
		at := rapid.IntRange(0, len(list)).Draw(rt, "when")
		list = append(list[:at:at], append([]step{{unload: &of}}, list[at:]...)...)
		if d := cmp.Diff(want, never(b.run(rt, list))); d != "" {
			rt.Fatalf("%v, compared with the same without the version:\n%s", list, d)
		}
	})
}
