package donewith

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/producers/sourcestate"
	"tributary/sql/control"
)

// An order that is tied to what was looked at is not given for anything else.
func TestOrdersAreTiedToWhatWasLookedAt(t *testing.T) {
	b := newBench(t, t.TempDir(), "move done", config.Source{}, nil)
	give := func(w Wish, dry bool) (sourcestate.Outcome, error) {
		o := sourcestate.Orders{Decision: control.Decision{By: "ann", Reason: "agreed with H", At: b.now}, Pool: b.deps.Pool, Outbox: b.deps.Outbox, Dry: dry}
		all, err := Order(t.Context(), o, w, "src")
		if err != nil {
			return sourcestate.Outcome{}, err
		}
		return all[0], nil
	}
	tried, err := give(Wish{Act: true}, true)
	if err != nil || tried.Seen == "" {
		t.Fatalf("a tried order says %+v, %v", tried, err)
	}
	all, err := control.Standings(t.Context(), b.deps.Pool, "src")
	if err != nil {
		t.Fatal(err)
	}
	stand, err := StandOf(t.Context(), b.deps.Pool, all[0])
	if err != nil || stand.Seen != tried.Seen {
		t.Errorf("what is shown of the source is %+v, %v; a tried order says %q", stand, err, tried.Seen)
	}

	b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.dir, DoneWith: "delete"})
	b.inserted(first, "1")
	if o, err := give(Wish{Act: true, Seen: tried.Seen}, false); !errors.Is(err, ErrChanged) {
		t.Errorf("ordered for a move, and it is a deletion by now: %+v, %v", o, err)
	}
	b.round()
	b.expect("not ordered", map[string]string{first: "shown, present"}, "add/"+first)
	tried, err = give(Wish{Act: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := give(Wish{Act: true, Seen: tried.Seen}, false); err != nil || !o.Done {
		t.Errorf("ordered for what it is: %+v, %v", o, err)
	}
	b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.dir, DoneWith: "delete"})
	if o, err := give(Wish{Seen: "anything"}, false); err != nil || !o.Done {
		t.Errorf("to stop needs nothing to be as it was: %+v, %v", o, err)
	}
}

// However many files were done with, they are counted up to a bound.
func TestCountsAreBounded(t *testing.T) {
	b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
	b.exec(`INSERT INTO control.done_with (source, file, look, rule, state, exception, at)
		SELECT CASE WHEN i <= 10 THEN 'other' ELSE 'src' END, gen_random_uuid(), 1, 'delete', k.state, k.exception, now()
		FROM (VALUES ('done', '', 10012), ('left', 'file_gone', 12), ('left', 'changed_since_insertion', 13), ('shown', '', 10010)) k(state, exception, files) CROSS JOIN generate_series(1, k.files) i`)
	got, err := control.DoneCounts(t.Context(), b.deps.Pool, "src")
	if err != nil {
		t.Fatal(err)
	}
	want := []control.DoneCount{
		{State: "done", Files: 10_000, More: true}, {State: "left", Exception: "changed_since_insertion", Files: 3}, {State: "left", Exception: "file_gone", Files: 2}, {State: "shown", Files: 10_000},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("- want, + got:\n%s", d)
	}
	if said := Number(got[0]) + ", " + Number(got[3]); said != "10000 or more, 10000" {
		t.Errorf("said as %s", said)
	}
}
