// Package timetable computes when something is done: at an interval that grows
// while nothing changes, or at the times of a cron expression, and within windows.
// It is pure: all of it follows from what it is given, a time zone's rules among
// them, which the program carries along.
//
// Where clocks are put forward, a time that is skipped counts at the moment of the
// change, all that are skipped as one. Where they are put back, a time that comes
// twice counts the first time only. Both hold for cron expressions that name their
// hours; one with a * or a step in the hour counts the hours that pass, and so has
// each that there is and none that is skipped.
package timetable

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cron is a cron expression of five fields in a time zone.
type Cron struct {
	minutes, hours, days, months, weekdays uint64 // a bit for each value
	both                                   bool   // a day must match both fields of days: one of them begins with *
	passing                                bool   // it counts the hours that pass, rather than what clocks show
	zone                                   *time.Location
}

const (
	// maxText is how long an expression may be, in bytes.
	maxText = 200
	// horizon is within how many years an expression has a time, if it has any: a
	// 29 February on a given weekday comes no less often, not even around 2100.
	horizon = 41
)

// ParseCron reads an expression: minute, hour, day of the month, the month, and day
// of the week (0 and 7 are Sunday), each *, a number, a range or a list of those, with
// /STEP, months and days of the week also by the first three letters of their
// English names; or @hourly, @daily, @weekly or @monthly. Where neither field of
// days begins with *, a day needs to match only one of them. An expression that
// never has a time is an error, which says what to do, as all do.
func ParseCron(text string, zone *time.Location) (Cron, error) {
	if len(text) > maxText {
		return Cron{}, fmt.Errorf("is longer than %d bytes: shorten it", maxText)
	}
	switch text {
	case "@hourly":
		text = "0 * * * *"
	case "@daily":
		text = "0 0 * * *"
	case "@weekly":
		text = "0 0 * * 0"
	case "@monthly":
		text = "0 0 1 * *"
	}
	parts := strings.Fields(text)
	if len(parts) != 5 {
		return Cron{}, fmt.Errorf("%q has %d fields: write five, for minute, hour, day of the month, month and day of the week, as in 30 3 * * 1-5; or @hourly, @daily, @weekly or @monthly", text, len(parts))
	}
	c := Cron{zone: zone, both: parts[2][0] == '*' || parts[4][0] == '*', passing: strings.ContainsAny(parts[1], "*/")}
	for i, f := range []struct {
		field
		bits *uint64
	}{
		{field{name: "minute", highest: 59}, &c.minutes},
		{field{name: "hour", highest: 23}, &c.hours},
		{field{name: "day of the month", lowest: 1, highest: 31}, &c.days},
		{field{name: "month", lowest: 1, highest: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec"}, &c.months},
		{field{name: "day of the week", highest: 7, names: "sun mon tue wed thu fri sat"}, &c.weekdays},
	} {
		var err error
		if *f.bits, err = f.parse(strings.ToLower(parts[i])); err != nil {
			return Cron{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	c.weekdays |= c.weekdays >> 7 // 7 is Sunday, too
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%q never comes: none of its months has such a day, so correct the day or the month", text)
	}
	return c, nil
}

// field is one of the five.
type field struct {
	name            string
	lowest, highest int
	names           string // of its values, the lowest first
}

// parse reads a field as a set of bits.
func (f field) parse(text string) (bits uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		values, step, stepped := strings.Cut(item, "/")
		low, high, ranged := strings.Cut(values, "-")
		from, to, by := f.lowest, f.highest, 1
		if values != "*" {
			if from, err = f.value(low); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				to, err = f.value(high)
			case !stepped:
				to = from
			}
			if err != nil {
				return 0, err
			}
			if f.highest == 7 && to == 0 && from > 0 {
				to = 7 // until Sunday
			}
		}
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 || by > f.highest {
				return 0, fmt.Errorf("%s %q: a step is a number from 1 to %d, as in */5", f.name, item, f.highest)
			}
		}
		if to < from {
			return 0, fmt.Errorf("%s %q: the range ends before it begins: write two, as in 22-23,0-5", f.name, item)
		}
		for v := from; v <= to; v += by {
			bits |= 1 << v
		}
	}
	return bits, nil
}

// value reads one value, by number or name.
func (f field) value(text string) (int, error) {
	for i, name := range strings.Fields(f.names) {
		if text == name {
			return f.lowest + i, nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || int(n) < f.lowest || int(n) > f.highest {
		return 0, fmt.Errorf("%s %q: write %s", f.name, text, f.allowed())
	}
	return int(n), nil
}

func (f field) allowed() string {
	text := fmt.Sprintf("*, or numbers from %d to %d", f.lowest, f.highest)
	if f.names != "" {
		text += " or names as " + strings.Fields(f.names)[1]
	}
	return text + ", as ranges and lists"
}

// Next is the first time after the given one, at a whole minute; zero if there is
// none.
func (c Cron) Next(after time.Time) time.Time {
	from := after.Truncate(time.Minute).Add(time.Minute)
	last := from.AddDate(horizon, 0, 0)
	// Between two changes of its clocks, a zone's time is one offset from UTC.
	for from.Before(last) {
		start, end := c.bounds(from)
		if end.IsZero() || end.After(last) {
			end = last
		}
		offset := c.offset(from)
		clock := from.Add(offset)
		if !c.passing && !start.IsZero() {
			shown := start.Add(c.offset(start.Add(-1))) // up to here the clocks have been before
			if from.Equal(start) {
				if _, skipped := c.match(shown, start.Add(offset)); skipped {
					return start.UTC()
				}
			}
			if shown.After(clock) {
				clock = shown
			}
		}
		if at, ok := c.match(clock, end.Add(offset)); ok {
			return at.Add(-offset)
		}
		from = end
	}
	return time.Time{}
}

// bounds is the stretch with one offset that holds a moment. In the last day of a leap
// year, counted in UTC, Go may end it before that moment (golang/go#81583): it ends
// with the year then, as the stretches of other years do.
func (c Cron) bounds(at time.Time) (start, end time.Time) {
	start, end = at.In(c.zone).ZoneBounds()
	if !end.IsZero() && !end.After(at) {
		end = at.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	}
	return start, end
}

// offset is what the zone's clocks are ahead of UTC at a moment.
func (c Cron) offset(at time.Time) time.Duration {
	_, seconds := at.In(c.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// match finds the first minute from a clock's time until another, both as if they
// were UTC, that the expression has.
func (c Cron) match(from, until time.Time) (time.Time, bool) {
	from = from.UTC()
	if cut := from.Truncate(time.Minute); cut.Before(from) {
		from = cut.Add(time.Minute)
	}
	until = until.UTC()
	minute := from.Hour()*60 + from.Minute()
	for day := from.Truncate(24 * time.Hour); day.Before(until); day = day.AddDate(0, 0, 1) {
		for ; c.on(day) && minute < 24*60; minute++ {
			if c.hours&(1<<(minute/60)) == 0 {
				minute += 59 - minute%60 // nothing else of this hour needs a look
				continue
			}
			if c.minutes&(1<<(minute%60)) != 0 {
				at := day.Add(time.Duration(minute) * time.Minute)
				return at, at.Before(until)
			}
		}
		minute = 0
	}
	return time.Time{}, false
}

// on tells whether the expression has times on a day.
func (c Cron) on(day time.Time) bool {
	if c.months&(1<<int(day.Month())) == 0 {
		return false
	}
	ofMonth, ofWeek := c.days&(1<<day.Day()) != 0, c.weekdays&(1<<int(day.Weekday())) != 0
	if c.both {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// Zone returns the time zone of that IANA name; UTC where it is empty. The machine's
// own ("Local") is refused: it would be another on each machine.
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > maxText {
		return nil, errors.New("is no time zone: write an IANA name, as in Europe/Berlin, or take the key out for UTC")
	}
	return zone, nil
}
