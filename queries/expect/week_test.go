package expect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// delivered is a source that delivers at three on such days, from a Monday on, for so
// many days.
func delivered(days int, on func(day int, at time.Time) bool) History {
	h := History{Source: "s", State: available, Resumed: []time.Time{begin()}}
	for d := range days {
		if at := begin().AddDate(0, 0, d); on(d, at) {
			h.Finds = append(h.Finds, Find{At: at, Files: 10, Bytes: -1, Largest: -1})
		}
	}
	h.Seen = h.Finds[len(h.Finds)-1].At
	return h
}

func onWorkdays(_ int, at time.Time) bool {
	return at.Weekday() != time.Saturday && at.Weekday() != time.Sunday
}

// On which weekdays a source rests is known once it has for four weeks, and has kept to
// the others; then it is expected, and late, by the other days alone.
func TestWeekdays(t *testing.T) {
	for _, tt := range []struct {
		name       string
		h          History
		rests      string
		next, late time.Duration // after the last arrival
	}{
		{"daily", delivered(60, func(int, time.Time) bool { return true }), "", 24 * time.Hour, 36 * time.Hour},
		{"four Sundays, until a Friday", delivered(33, onWorkdays), "Saturday Sunday", 72 * time.Hour, 84 * time.Hour},
		{"until a Wednesday", delivered(38, onWorkdays), "Saturday Sunday", 24 * time.Hour, 36 * time.Hour},
		{"three Sundays", delivered(26, onWorkdays), "", 24 * time.Hour, 108 * time.Hour},
		{"once on a Saturday", delivered(61, func(d int, at time.Time) bool { return onWorkdays(d, at) || d == 26 }), "", 24 * time.Hour, 108 * time.Hour},
		{"on a Saturday long ago", delivered(161, func(d int, at time.Time) bool { return onWorkdays(d, at) || d == 26 }), "Saturday Sunday", 72 * time.Hour, 84 * time.Hour},
		{"without three Tuesdays of twelve", delivered(87, func(d int, at time.Time) bool { return onWorkdays(d, at) && d != 36 && d != 50 && d != 64 }), "Saturday Sunday", 24 * time.Hour, 108 * time.Hour},
		{"seldom on a Tuesday", delivered(87, func(d int, at time.Time) bool { return onWorkdays(d, at) && (at.Weekday() != time.Tuesday || d%14 < 7) }), "", 24 * time.Hour, 108 * time.Hour},
		{"on Mondays", delivered(57, func(_ int, at time.Time) bool { return at.Weekday() == time.Monday }), "Tuesday Wednesday Thursday Friday Saturday Sunday", 168 * time.Hour, 180 * time.Hour},
	} {
		e := Expect(tt.h)
		if got := strings.Join(e.Rests, " "); got != tt.rests {
			t.Errorf("%s: it rests on %q, want %q", tt.name, got, tt.rests)
		}
		if e.Next == nil || e.Next.Sub(tt.h.Seen) != tt.next || e.LateAfter.Sub(tt.h.Seen) != tt.late {
			t.Errorf("%s: expected after %v, and late after %v; want %v and %v", tt.name, e.Next.Sub(tt.h.Seen), e.LateAfter.Sub(tt.h.Seen), tt.next, tt.late)
		}
	}
	h := delivered(33, onWorkdays)
	h.Seen = h.Seen.Add(85 * time.Hour)
	e := Expect(h)
	if d := cmp.Diff([]string{Late}, found(e)); d != "" || !strings.Contains(e.Findings[0].Message, "(never on a Saturday, Sunday)") {
		t.Errorf("it is found %v", e.Findings)
	}
}

// Time that is counted and time that passes are one another's inverse.
func TestTheClockOfAWeek(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w week
		for range rapid.IntRange(0, 6).Draw(t, "days of rest") {
			w.rests[rapid.IntRange(0, 6).Draw(t, "weekday")] = true
		}
		if !slices.Contains(w.rests[:], false) {
			return
		}
		from := begin().Add(time.Duration(rapid.Int64Range(0, int64(8*day)).Draw(t, "from")))
		d := time.Duration(rapid.Int64Range(1, int64(60*day)).Draw(t, "time"))
		until := w.after(from, d)
		if got := w.worked(from, until); got != d {
			t.Fatalf("%v after %v is %v, of which %v is counted", d, from, until, got)
		}
		if w.worked(until.Add(-1), until) != 1 {
			t.Fatalf("%v after %v is %v, a day of rest", d, from, until)
		}
	})
}
