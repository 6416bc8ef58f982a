//go:build !race

package poll

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/listing"
)

// TestWhatWasShownAtAnyTime holds that the listing that was current at any moment is the
// directory as it was then, over many polls of a source that changes, some of which
// break off; that what broke off can be seen as far as it came; and that no blob is
// there that nobody knows.
func TestWhatWasShownAtAnyTime(t *testing.T) {
	k := newKeeper(t)
	k.cfg.MaxMissingShare = 1
	rng := rand.New(rand.NewPCG(7, 8))
	k.server.dirs["edit"], k.server.dirs["delete"] = nil, nil
	type state struct {
		at       time.Time
		entries  []listing.Entry
		complete bool
	}
	states := []state{{}}
	for i := range 200 {
		k.now = k.now.Add(time.Duration(1+rng.Int64N(int64(3*time.Hour)/1000)) * time.Microsecond)
		for range rng.IntN(4) * rng.IntN(12) {
			k.change(rng)
		}
		k.server.fail = nil
		s := state{k.now, k.shown(), true}
		if s.complete = i%9 != 5 || len(k.server.dirs["add"]) == 0; !s.complete {
			k.server.fail = errors.New("the line broke")
			s.entries = slices.DeleteFunc(s.entries, func(e listing.Entry) bool { return e.Directory != "add" })
		}
		if e := k.polls(); (e.Note == "complete") != s.complete || e.Attributes["listing"] == "" {
			t.Fatalf("poll %d ended %s %s: %s, %v", i, e.Note, e.Exception, e.Message, e.Attributes)
		}
		states = append(states, s)
	}
	for range 100 {
		i := rng.IntN(len(states))
		at := states[i].at
		if i+1 < len(states) && rng.IntN(2) == 0 {
			at = states[i+1].at.Add(-time.Microsecond)
		}
		if d := cmp.Diff(states[i].entries, k.at(at, true), equateNone); d != "" {
			t.Fatalf("at %s was shown (- want, + got):\n%s", at, d)
		}
		for !states[i].complete && i > 0 {
			i--
		}
		if d := cmp.Diff(states[i].entries, k.at(at, false), equateNone); d != "" {
			t.Fatalf("the complete listing that was current at %s (- want, + got):\n%s", at, d)
		}
	}
	if got := k.text("SELECT count(*) FILTER (WHERE base IS NULL) > 2, count(base) > 20, count(*) < 200 FROM control.listing"); got != "true true true" {
		t.Errorf("kept whole, as differences, and less often than polled: %s", got)
	}
	k.knowsItsBlobs()
}
