package expect

import "time"

const (
	// leastWeeks is from how many weeks it is learned that a source rests on a weekday.
	leastWeeks = 4
	// mostWeeks is how many of the newest are looked at.
	mostWeeks = 12

	day = 24 * time.Hour
)

// week is on which weekdays, in UTC, a source delivers nothing. Its clock stands still
// on them.
type week struct {
	rests [7]bool
	known bool // whether there are such days
}

// weekOf learns from arrivals. A weekday is one of rest if nothing arrived on it for at
// least four weeks, and something on each of the other weekdays, three times of four:
// else it may be chance.
func weekOf(all []arrival) (w week) {
	if len(all) < 2 {
		return w
	}
	until := all[len(all)-1].ends.UTC().Truncate(day)
	from := all[1].begins.UTC().Truncate(day) // what came first is no measure
	if earliest := until.AddDate(0, 0, 1-7*mostWeeks); from.Before(earliest) {
		from = earliest
	}
	hit := map[time.Time]bool{}
	for _, a := range all[1:] {
		for d := a.begins.UTC().Truncate(day); !d.After(a.ends); d = d.Add(day) {
			hit[d] = true
		}
	}
	var days, hits [7]int
	for d := from; !d.After(until); d = d.Add(day) {
		days[d.Weekday()]++
		if hit[d] {
			hits[d.Weekday()]++
		}
	}
	for d := range days {
		switch {
		case days[d] < leastWeeks, hits[d] > 0 && 4*hits[d] < 3*days[d]:
			return week{}
		case hits[d] == 0:
			w.rests[d], w.known = true, true
		}
	}
	return w
}

// worked is how much time between two moments was not on a day of rest.
func (w week) worked(from, until time.Time) (sum time.Duration) {
	for from = from.UTC(); from.Before(until); {
		next := from.Truncate(day).Add(day)
		if next.After(until) {
			next = until
		}
		if !w.rests[from.Weekday()] {
			sum += next.Sub(from)
		}
		from = next
	}
	return sum
}

// after is the moment until which so much time has passed that is not on a day of rest.
func (w week) after(from time.Time, d time.Duration) time.Time {
	for from = from.UTC(); ; {
		next := from.Truncate(day).Add(day)
		switch left := next.Sub(from); {
		case w.rests[from.Weekday()]:
		case left >= d:
			return from.Add(d)
		default:
			d -= left
		}
		from = next
	}
}

// intervals are the pauses between arrivals, by that clock, the newest last.
func (w week) intervals(all []arrival) (out []float64) {
	for i := 2; i < len(all); i++ {
		if !all[i].backlog {
			out = append(out, w.worked(all[i-1].ends, all[i].begins).Seconds())
		}
	}
	return out
}

// names are the weekdays on which nothing comes, from Monday.
func (w week) names() []string {
	out := []string{}
	for d := time.Monday; d <= time.Saturday+1; d++ {
		if w.rests[d%7] {
			out = append(out, (d % 7).String())
		}
	}
	return out
}

// expectNext says when something is expected, and when it is late: where days of rest
// are known, by time outside of them, and no later than by all time.
func (e *Expectation) expectNext(all []arrival, since time.Time) {
	e.Next = momentOf(since.Add(seconds(e.Interval.Median)))
	e.LateAfter = momentOf(since.Add(seconds(e.Interval.High * lateFactor)))
	w := weekOf(all)
	if !w.known {
		return
	}
	worked := spread(w.intervals(all))
	e.Rests, e.Next = w.names(), momentOf(w.after(since, seconds(worked.Median)))
	if late := w.after(since, seconds(worked.High*lateFactor)); late.Before(*e.LateAfter) {
		e.LateAfter = momentOf(late)
	}
}
