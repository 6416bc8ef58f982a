package timetable

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // a machine without time zones has the program's
)

const (
	// MaxWindows is how many windows a timetable may have.
	MaxWindows = 16
	// minWindow is how long a window is at least.
	minWindow = time.Minute
	// lookAhead is how far the end of windows that follow one another is looked for.
	lookAhead = 7 * 24 * time.Hour
)

// Window opens at the times of a cron expression, and closes again.
type Window struct {
	opens  Cron
	length time.Duration
}

// NewWindow makes a window that is open for a length after each time of a cron
// expression. It is an error if that is less than a minute, or not less than the
// time from one opening to the next.
func NewWindow(opens Cron, length time.Duration) (Window, error) {
	if length < minWindow {
		return Window{}, fmt.Errorf("is open for %s only: a minute is the least", length)
	}
	// As many as a year has days, or those of some years: changes of clocks are among them.
	at := opens.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for n := 0; n < 366 && at.Year() < 2029; n++ {
		next := opens.Next(at)
		if period := next.Sub(at); length >= period {
			return Window{}, fmt.Errorf("is open for %s, and opens again after %s, at %s: make it shorter, or take it out if it shall always be open", length, period, next.In(opens.zone).Format("2006-01-02 15:04 MST"))
		}
		at = next
	}
	return Window{opens, length}, nil
}

// closes is when the window closes that is open at a moment; zero where it is not.
func (w Window) closes(at time.Time) time.Time {
	if opened := w.opens.Next(at.Add(-w.length)); !opened.IsZero() && !opened.After(at) {
		return opened.Add(w.length)
	}
	return time.Time{}
}

// Span is when a window is open: from Opens until before Closes. The zero Span is
// always open.
type Span struct{ Opens, Closes time.Time }

// Always tells whether there is no window, so that it is always open.
func (s Span) Always() bool { return s.Closes.IsZero() }

// Has tells whether the span is open at a moment.
func (s Span) Has(at time.Time) bool {
	return s.Always() || !at.Before(s.Opens) && at.Before(s.Closes)
}

// Once stands in place of a cron expression where a source is polled until one poll is
// complete, and then when a person asks.
const Once = "@once"

// Timetable says when a source is polled. Interval is used where it has no cron
// expression.
type Timetable struct {
	Cron     *Cron
	Once     bool          // it has no time after a complete poll; until then Interval counts
	Interval time.Duration // between polls
	Longest  time.Duration // to which the interval grows while nothing changes; no longer than Interval: it doesn't grow
	Windows  []Window      // outside of which nothing begins; none: it is always open
	Zone     *time.Location
}

// ErrNever says that a timetable has no further time.
var ErrNever = errors.New("its cron expression has no time any more")

// Every is the interval after so many polls in a row that found nothing changed: it
// doubles with each.
func (t Timetable) Every(unchanged int) time.Duration {
	every := t.Interval
	for ; unchanged > 0 && every < t.Longest; unchanged-- {
		every *= 2
	}
	return max(t.Interval, min(every, t.Longest))
}

// Next is when a source is due after a moment. An interval is multiplied by spread,
// so that sources don't stay due together; cron's times are kept.
func (t Timetable) Next(after time.Time, unchanged int, spread float64) (time.Time, error) {
	if t.Cron == nil {
		return after.Add(time.Duration(float64(t.Every(unchanged)) * spread)), nil
	}
	next := t.Cron.Next(after)
	if next.IsZero() {
		return next, ErrNever
	}
	return next, nil
}

// Window is when the windows are open now, as one where they follow one another; or
// when the next one is. Of windows that never close it is some days, from a moment
// on.
func (t Timetable) Window(at time.Time) (Span, error) {
	if len(t.Windows) == 0 {
		return Span{}, nil
	}
	s := Span{Opens: at}
	if s.Closes = t.closes(at); s.Closes.IsZero() {
		if s.Opens = t.opens(at); s.Opens.IsZero() {
			return Span{}, ErrNever
		}
		s.Closes = t.closes(s.Opens)
	}
	for last := s.Opens.Add(lookAhead); s.Closes.Before(last); {
		later := t.closes(s.Closes)
		if later.IsZero() {
			break
		}
		s.Closes = later
	}
	return s, nil
}

// closes is when the last of the windows closes that are open at a moment; zero
// where none is.
func (t Timetable) closes(at time.Time) (last time.Time) {
	for _, w := range t.Windows {
		if c := w.closes(at); c.After(last) {
			last = c
		}
	}
	return last
}

// opens is when the next window opens after a moment.
func (t Timetable) opens(after time.Time) (first time.Time) {
	for _, w := range t.Windows {
		if o := w.opens.Next(after); first.IsZero() || !o.IsZero() && o.Before(first) {
			first = o
		}
	}
	return first
}

// Times are the next n moments at which a source will be polled that is due at a
// moment, if all go well and find nothing changed, and none is spread.
func (t Timetable) Times(due time.Time, unchanged, n int) ([]time.Time, error) {
	out := make([]time.Time, 0, n)
	for range n {
		open, err := t.Window(due)
		if err != nil {
			return nil, err
		}
		if !open.Has(due) {
			due = open.Opens
		}
		if out = append(out, due); t.Once {
			break
		}
		if due, err = t.Next(due, unchanged, 1); err != nil {
			return nil, err
		}
		unchanged++
	}
	return out, nil
}
