package standing

import (
	"fmt"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/screen"
	"tributary/sql/control"
)

// shownTimes is how many of the next times are shown.
const shownTimes = 5

// times are when a source is polled next, as far as that can be computed.
type times struct {
	next        []time.Time // in its time zone
	every       time.Duration
	longest     time.Duration
	cron        bool
	once        bool // until a poll is complete
	onDemand    bool // as one was
	open        bool
	window      bool // it has one
	opens, ends time.Time
	err         error
}

func timesOf(s control.Standing, now time.Time) (out times) {
	t, err := config.TimetableOf(s.Definition, s.Interval)
	if err != nil {
		return times{err: err}
	}
	out.cron, out.every, out.longest = t.Cron != nil || t.Once, t.Every(s.Unchanged), t.Longest
	out.once, out.onDemand = t.Once && !s.OnDemand, s.OnDemand
	span, err := t.Window(now)
	if err != nil {
		return times{err: err}
	}
	out.window, out.open, out.opens, out.ends = !span.Always(), span.Has(now), span.Opens.In(t.Zone), span.Closes.In(t.Zone)
	due := now
	switch {
	case s.State == control.SourceMaintenance && s.MaintainedUntil != nil:
		due = *s.MaintainedUntil
	case s.State == control.SourceMaintenance, s.OnDemand:
		return out
	case s.Due != nil && s.Due.After(now):
		due = *s.Due
	}
	out.next, out.err = t.Times(due, s.Unchanged, shownTimes)
	for i := range out.next {
		out.next[i] = out.next[i].In(t.Zone)
	}
	return out
}

// showTimes adds them to what -o json writes of the source.
func showTimes(to map[string]any, t times) {
	if t.err != nil {
		to["schedule_error"] = t.err.Error()
		return
	}
	to["next"] = t.next
	if t.once || t.onDemand {
		to["on_demand"] = t.onDemand
	}
	if !t.cron {
		to["interval"] = config.Duration(t.every).String()
	}
	if t.window {
		window := map[string]any{"open": t.open, "closes": t.ends}
		if !t.open {
			window["opens"] = t.opens
		}
		to["window"] = window
	}
}

// timesText says when a source is polled, for people.
func timesText(s control.Standing, t times) string {
	var b strings.Builder
	if s.State == control.SourceMaintenance {
		b.WriteString("left alone until ")
		if s.MaintainedUntil != nil {
			b.WriteString(inZone(*s.MaintainedUntil) + ", or until ")
		}
		b.WriteString("it is resumed: tributary sources resume " + s.ID + "\n")
	}
	if t.err != nil {
		return b.String() + "when it is due can't be computed: " + screen.Line(t.err.Error()) + "\n"
	}
	if t.longest > 0 && !t.cron {
		fmt.Fprintf(&b, "polled every %s, every %s at most; polls in a row that found no change: %d\n", config.Duration(t.every), config.Duration(t.longest), s.Unchanged)
	}
	b.WriteString(completePollsOf(s).text())
	switch {
	case t.onDemand:
		b.WriteString("it was polled completely, and is polled on demand only: tributary sources poll " + s.ID + "\n")
	case t.once:
		b.WriteString("it is polled until one poll is complete, and on demand from then on: tributary sources poll " + s.ID + "\n")
	}
	switch {
	case t.window && t.open:
		fmt.Fprintf(&b, "its window is open until %s\n", inZone(t.ends))
	case t.window:
		fmt.Fprintf(&b, "its window is closed until %s\n", inZone(t.opens))
	}
	for i, at := range t.next {
		if i == 0 {
			b.WriteString("next:\n")
		}
		fmt.Fprintf(&b, "  %s\n", inZone(at))
	}
	return b.String()
}

// inZone writes a moment in its zone, and in UTC where that is another.
func inZone(at time.Time) string {
	utc := at.UTC().Format("2006-01-02 15:04:05Z")
	if at.Location().String() == time.UTC.String() {
		return utc
	}
	return at.Format("Mon 2006-01-02 15:04:05 MST") + " (" + utc + ")"
}
