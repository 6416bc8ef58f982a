package expect

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Find is what one poll of a source found.
type Find struct {
	At    time.Time // when the poll ended
	Files int64     // new and changed
	// Bytes are those of all these files, Largest those of the largest, as listed; -1:
	// the poll doesn't tell.
	Bytes, Largest int64
	// More says that the poll left something that it saw, or did not see all: what is
	// found next belongs to it.
	More bool
}

// arrival is what came together: one find, or several of which each came soon after
// the one before.
type arrival struct {
	begins, ends time.Time
	files        float64
	bytes        float64 // negative: not known
	largest      float64 // negative: not known
	more         bool    // its last find left something
	// backlog says that it is no measure: it is what had gathered before the source was
	// polled for the first time, or while it was left alone.
	backlog bool
}

// apart is how many times longer the typical pause between arrivals must be than the
// typical one between finds of one arrival for the two to be told apart.
const apart = 16

// arrivals gathers finds, whatever their order, and returns with them the longest
// pause within any of them; 0 where each find is an arrival.
func arrivals(finds []Find, resumed []time.Time) ([]arrival, time.Duration) {
	finds = slices.SortedFunc(slices.Values(finds), func(a, b Find) int { return a.At.Compare(b.At) })
	within := longestWithin(finds)
	var out []arrival
	for _, f := range finds {
		next := arrival{begins: f.At, ends: f.At, files: float64(f.Files), bytes: float64(f.Bytes), largest: float64(f.Largest), more: f.More}
		if n := len(out); n > 0 && (out[n-1].more || f.At.Sub(out[n-1].ends) <= within) {
			out[n-1].add(next)
		} else {
			out = append(out, next)
		}
	}
	for i := range out {
		out[i].backlog = i == 0 || between(resumed, out[i-1].ends, out[i].begins)
	}
	return out, within
}

func (a *arrival) add(o arrival) {
	a.ends, a.files, a.largest, a.more = o.ends, a.files+o.files, max(a.largest, o.largest), o.more
	if a.bytes < 0 || o.bytes < 0 {
		a.bytes, a.largest = -1, -1
	} else {
		a.bytes += o.bytes
	}
}

// between tells whether one of the moments lies after the one and not after the other.
func between(moments []time.Time, after, until time.Time) bool {
	return slices.ContainsFunc(moments, func(m time.Time) bool { return m.After(after) && !m.After(until) })
}

// longestWithin parts the pauses between finds in two so that the short are as like
// one another as they can be, and the long are (Otsu's method, over the logarithms),
// and returns the longest of the short ones. It returns 0 if the two kinds are not far
// apart, or if there are too few of the long ones to tell when anything comes: then
// a few long pauses, such as outages, make no arrival of all that lies between them.
func longestWithin(finds []Find) time.Duration {
	var pauses []time.Duration
	for i := 1; i < len(finds); i++ {
		if !finds[i-1].More {
			pauses = append(pauses, max(finds[i].At.Sub(finds[i-1].At), 1))
		}
	}
	slices.SortFunc(pauses, cmp.Compare[time.Duration])
	var total float64
	for _, p := range pauses {
		total += math.Log(float64(p))
	}
	var within time.Duration
	var best, sum float64
	for i := 0; i < len(pauses)-1-Least; i++ {
		sum += math.Log(float64(pauses[i]))
		short, long := float64(i+1), float64(len(pauses)-i-1)
		distance := (total-sum)/long - sum/short
		if spread := short * long * distance * distance; spread > best && distance >= math.Log(apart) && pauses[i+1] > pauses[i] {
			best, within = spread, pauses[i]
		}
	}
	return within
}
