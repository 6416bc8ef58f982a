//go:build !race

package tracker

import (
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// disturbed draws a log that says the same: in any order, with any of its
// events repeated.
func disturbed(t *rapid.T, log []event) []event {
	out := append([]event(nil), log...)
	for range rapid.IntRange(0, len(log)/2).Draw(t, "repeats") {
		out = append(out, log[rapid.IntRange(0, len(log)-1).Draw(t, "repeat")])
	}
	return rapid.Permutation(out).Draw(t, "order")
}

// batches draws how a log is cut.
func batches(t *rapid.T, log []event) [][]event {
	var out [][]event
	for len(log) > 0 {
		n := rapid.IntRange(1, len(log)).Draw(t, "cut")
		out, log = append(out, log[:n]), log[n:]
	}
	return out
}

// TestAnyOrderGivesTheSameStates holds the law of projections for what is kept
// in memory, through the form in which it is stored.
func TestAnyOrderGivesTheSameStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := eventLog(t)
		want, err := folded(log)
		if err != nil {
			t.Fatal(err)
		}
		got, err := folded(batches(t, disturbed(t, log))...)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the states differ:\n%s", d)
		}
	})
}

// folded are the states after batches of events, as text.
func folded(all ...[]event) (map[string]string, error) {
	var sum *fold
	for _, events := range all {
		f := newFold()
		for _, e := range events {
			if err := f.add(&e.StatusChanged, e.at); err != nil {
				return nil, err
			}
		}
		if sum != nil {
			f.join(sum)
		}
		sum = f
	}
	out := map[string]string{}
	for _, m := range []any{sum.centres, sum.sources, sum.sessions, sum.tasks, sum.batches, sum.names, sum.files, sum.hostings, sum.versions, sum.attempts, sum.documents, sum.qualities} {
		for it := reflect.ValueOf(m).MapRange(); it.Next(); {
			text, err := json.Marshal(it.Value().Interface())
			if err != nil {
				return nil, err
			}
			out[fmt.Sprintf("%T %s", m, it.Key())] = string(text)
		}
	}
	return out, nil
}

// TestAnyOrderGivesTheSameRows holds the law for every table and every view.
func TestAnyOrderGivesTheSameRows(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	// Each log takes a third of a second; -rapid.checks asks for more.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "6"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	rapid.Check(t, func(rt *rapid.T) {
		log := eventLog(rt)
		reset(t, pool)
		apply(t, tr, 0, log...)
		want := dump(t, pool)
		reset(t, pool)
		next := int64(0)
		all := append(shadowed(rt, log), log...) // a shadow changes nothing, whenever it comes
		for _, b := range batches(rt, disturbed(rt, all)) {
			next = apply(t, tr, next, b...)
		}
		if d := cmp.Diff(want, dump(t, pool)); d != "" {
			rt.Fatalf("the rows differ:\n%s", d)
		}
		if counted, is := counts(t, pool); cmp.Diff(is, counted) != "" {
			rt.Fatalf("counted (-is +counted):\n%s", cmp.Diff(is, counted))
		}
		if len(want["zip_action"]) == 0 {
			rt.Fatal("the log left no file")
		}
	})
}
