// Package expect learns from a source's history when its next files are to be
// expected, how many and how large, and how long they take; it says what is under way,
// and what is not as it was before. There is no model: what is expected is the spread
// of the last measures, and computed whenever somebody asks.
package expect

import (
	"slices"
	"time"
)

// The findings.
const (
	Late    = "late"            // nothing new has come for much longer than usual
	Short   = "short"           // what came last is much less than usual
	Unusual = "unusually_large" // what came last is much more than usual, or has a file that is
)

const (
	// lateFactor is how many times as long as usual nothing comes before that is late.
	lateFactor = 1.5
	// sizeFactor is how many times as many, or as few, as usual are unusual.
	sizeFactor = 3
)

// History is what is known of a source.
type History struct {
	Source string
	State  string // available, maintenance, removed or suspended
	// Seen is when the last complete poll ended: until then it is known that nothing has
	// come after the last find. Zero: there was none.
	Seen    time.Time
	Resumed []time.Time // when it became available, the first time included
	Finds   []Find      // the newest, in any order
	Fetches []Fetch     // the newest, in any order
	Waiting Outstanding
}

// Fetch is what was fetched of what one poll found.
type Fetch struct {
	At    time.Time     // when the poll ended
	Bytes int64         // received
	Took  time.Duration // from the first byte of the first file to the last of the last; 0: not known
	Until time.Duration // from the poll's end until all was loaded; 0: it isn't, or not known
}

// Outstanding is what is still to be fetched from a source.
type Outstanding struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"` // as listed
}

// Expectation is what follows from a source's history. Spreads are nil where there
// is too little to learn from.
type Expectation struct {
	Source string     `json:"source"`
	State  string     `json:"state"`
	Seen   *time.Time `json:"seen"` // when its last complete poll ended; nil: never
	Last   *time.Time `json:"last"` // when it last showed anything new; nil: never

	Interval *Spread `json:"interval_seconds"` // from the end of an arrival to the beginning of the next
	Files    *Spread `json:"files"`            // of one arrival
	Bytes    *Spread `json:"bytes"`            // of one arrival
	Largest  *Spread `json:"largest_bytes"`    // the largest file of an arrival
	Rate     *Spread `json:"bytes_per_second"` // while what a poll found is fetched
	Load     *Spread `json:"load_seconds"`     // from the poll's end until all that it found is loaded

	Next      *time.Time  `json:"next"`        // when the next arrival is expected; nil: not known
	Rests     []string    `json:"rests"`       // weekdays, in UTC, on which nothing comes; none: it is not known of any
	LateAfter *time.Time  `json:"late_after"`  // when nothing will have come for too long; nil: not known
	Waiting   Outstanding `json:"outstanding"` // what is still to be fetched
	ETA       *float64    `json:"eta_seconds"` // how long that takes; nil: not known, or nothing is outstanding

	Findings []Finding `json:"findings"`
}

// Finding is something that is not as it was before.
type Finding struct {
	Finding string `json:"finding"`
	Message string `json:"message"`
}

// Expect is what follows from a history. It depends on nothing else, not even on the
// time: what has not been looked at since the last complete poll may have come.
func Expect(h History) Expectation {
	e := Expectation{Source: h.Source, State: h.State, Seen: momentOf(h.Seen), Waiting: h.Waiting, Rests: []string{}, Findings: []Finding{}}
	e.fetches(h.Fetches)
	all, within := arrivals(h.Finds, h.Resumed)
	if len(all) == 0 {
		return e
	}
	last := all[len(all)-1]
	e.Last = momentOf(last.ends)
	e.Interval = spread(intervals(all))
	before := all[:len(all)-1]
	e.Files = spread(sizes(before, func(a arrival) float64 { return a.files }))
	e.Bytes = spread(sizes(before, func(a arrival) float64 { return a.bytes }))
	e.Largest = spread(sizes(before, func(a arrival) float64 { return a.largest }))
	if e.Interval != nil && h.State == available {
		since := last.ends // what was not polled is no silence
		for _, r := range h.Resumed {
			if r.After(since) {
				since = r
			}
		}
		e.expectNext(all, since)
	}
	e.judge(last, h.Seen, within)
	return e
}

const available = "available"

// intervals are the times between arrivals, without those in which the source was left
// alone, nor that after its first: when it was added is no choice of its own.
func intervals(all []arrival) (out []float64) {
	for i := 2; i < len(all); i++ {
		if !all[i].backlog {
			out = append(out, all[i].begins.Sub(all[i-1].ends).Seconds())
		}
	}
	return out
}

// sizes are one measure of each arrival that is known and no backlog.
func sizes(all []arrival, of func(arrival) float64) (out []float64) {
	for _, a := range all {
		if v := of(a); v >= 0 && !a.backlog {
			out = append(out, v)
		}
	}
	return out
}

func (e *Expectation) fetches(all []Fetch) {
	var rates, loads []float64
	all = slices.SortedFunc(slices.Values(all), func(a, b Fetch) int { return a.At.Compare(b.At) })
	for _, f := range all {
		if f.Took > 0 && f.Bytes > 0 {
			rates = append(rates, float64(f.Bytes)/f.Took.Seconds())
		}
		if f.Until > 0 {
			loads = append(loads, f.Until.Seconds())
		}
	}
	e.Rate, e.Load = spread(rates), spread(loads)
	if e.Rate != nil && e.Waiting.Files > 0 {
		eta := float64(e.Waiting.Bytes) / e.Rate.Median
		e.ETA = &eta
	}
}
