package watchdog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/notice"
	"tributary/test/members"
)

// target remembers what it was told.
type target struct {
	told []string
	ids  map[string]bool
	err  error
}

func (t *target) Deliver(_ context.Context, n notice.Notice) error {
	if t.err != nil {
		return t.err
	}
	t.told = append(t.told, n.Kind+": "+n.Title)
	t.ids[n.ID] = true
	return nil
}

// A trouble is told once it has lasted for two looks, and so is its end; who couldn't be
// told is told as long as it lasts, and nobody hears of the end of what it never knew.
func TestTroubles(t *testing.T) {
	now := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	words, beats := "", 0
	a, b := &target{ids: map[string]bool{}}, &target{ids: map[string]bool{}}
	w := New(Deps{Checks: []Check{{"kafka", func(context.Context) string { return words }}}, Targets: map[string]notice.Target{"a": a, "b": b}, Host: "h",
		Log: members.Logger(t), Now: func() time.Time { return now }, Ping: func(context.Context) error { beats++; return errors.New("no") }})
	look := func(found string, wantA, wantB []string) {
		t.Helper()
		words, now = found, now.Add(time.Minute)
		w.Look(t.Context())
		if diff := cmp.Diff([][]string{wantA, wantB}, [][]string{a.told, b.told}); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	}
	look("away", nil, nil)
	look("", nil, nil)
	look("away", nil, nil)
	b.err = errors.New("unreachable")
	first := []string{"trouble: away"}
	look("away", first, nil)
	look("still away", first, nil)
	b.err = nil
	look("still away", first, []string{"trouble: still away"})
	look("", first, []string{"trouble: still away"})
	over := append(first, "trouble_over: It is over: still away")
	look("", over, []string{"trouble: still away", "trouble_over: It is over: still away"})
	b.err = errors.New("unreachable")
	look("again", over, []string{"trouble: still away", "trouble_over: It is over: still away"})
	look("again", append(over, "trouble: again"), []string{"trouble: still away", "trouble_over: It is over: still away"})
	look("", append(over, "trouble: again"), []string{"trouble: still away", "trouble_over: It is over: still away"})
	b.err = nil
	look("", append(over, "trouble: again", "trouble_over: It is over: again"), []string{"trouble: still away", "trouble_over: It is over: still away"})
	if len(a.ids) != 4 {
		t.Errorf("4 notices have %d ids", len(a.ids))
	}
	if beats != 12 {
		t.Errorf("%d looks have sent %d heartbeats", 12, beats)
	}
}

// Insertion has stopped where positions wait and none is applied for long enough; it has
// not where none waits, where it goes on, or where nobody knows.
func TestStopped(t *testing.T) {
	now := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	var given, applied int64
	var err error
	c := Stopped(func(context.Context) (int64, int64, error) { return given, applied, err }, 15*time.Minute, func() time.Time { return now })
	at := func(minutes int, g, a int64, e error, want bool) {
		t.Helper()
		now = now.Add(time.Duration(minutes) * time.Minute)
		given, applied, err = g, a, e
		if got := c.Look(t.Context()) != ""; got != want {
			t.Errorf("at %s, %d of %d positions applied, %v: stopped is %t", now, a, g, e, got)
		}
	}
	at(0, 5, 5, nil, false)
	at(60, 5, 5, nil, false)
	at(1, 9, 5, nil, false)
	at(1, 9, 6, nil, false)
	at(14, 9, 6, nil, false)
	at(1, 9, 6, errors.New("away"), false)
	at(0, 9, 6, nil, true)
	at(1, 9, 9, nil, false)
}
