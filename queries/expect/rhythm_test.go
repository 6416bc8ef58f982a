package expect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// rhythm is how a simulated source works: when it puts files there, in hours after the
// one before, and how many of what size.
type rhythm struct {
	name  string
	pause func(r *rand.Rand, at time.Time) float64
	files func(r *rand.Rand) int
	burst int // files that come one after the other, 20 minutes apart, in place of at once

	late, large, short float64 // shares of arrivals that may be found falsely, at most
	noticed            float64 // after how many usual pauses a source that has stopped is late, at most
}

func rhythms() []rhythm {
	normal := func(mean, spread float64) func(*rand.Rand, time.Time) float64 {
		return func(r *rand.Rand, _ time.Time) float64 { return max(mean+spread*r.NormFloat64(), mean/10) }
	}
	some := func(mean, sigma float64) func(*rand.Rand) int {
		return func(r *rand.Rand) int { return max(1, int(mean*math.Exp(sigma*r.NormFloat64()))) }
	}
	workdays := func(r *rand.Rand, at time.Time) float64 {
		days := map[time.Weekday]float64{time.Friday: 72, time.Saturday: 48}[at.Weekday()]
		return max(days, 24) + 0.3*r.NormFloat64()
	}
	return []rhythm{
		{name: "daily", pause: normal(24, 0.5), files: some(50, 0.2), late: 0.002, large: 0.002, short: 0.002, noticed: 1.7},
		{name: "daily, sometimes left out", pause: func(r *rand.Rand, at time.Time) float64 {
			return normal(24, 0.5)(r, at) + 24*float64(r.IntN(20)/19)
		}, files: some(50, 0.2), late: 0.05, large: 0.002, short: 0.002, noticed: 3.2},
		{name: "workdays", pause: workdays, files: some(20, 0.5), late: 0.002, large: 0.01, short: 0.01, noticed: 3.6},
		{name: "workdays, with holidays", pause: func(r *rand.Rand, at time.Time) float64 { // about ten a year
			pause := workdays(r, at)
			if r.IntN(26) == 0 {
				pause += workdays(r, at.Add(seconds(3600*pause)))
			}
			return pause
		}, files: some(20, 0.5), late: 0.04, large: 0.01, short: 0.01, noticed: 4.7},
		{name: "weekly", pause: normal(168, 8), files: some(300, 0.3), late: 0.002, large: 0.002, short: 0.002, noticed: 1.8},
		{name: "irregular", pause: func(r *rand.Rand, _ time.Time) float64 { return 48 * r.ExpFloat64() }, files: some(10, 1), late: 0.03, large: 0.02, short: 0.02, noticed: 12},
		{name: "bursts", pause: normal(24, 2), files: some(40, 0.3), burst: 25, late: 0.002, large: 0.002, short: 0.002, noticed: 1.9},
		{name: "people at work", pause: func(r *rand.Rand, at time.Time) float64 {
			for t := at; ; {
				t = t.Add(seconds(3600 * 1.5 * r.ExpFloat64()))
				switch {
				case t.Weekday() == time.Saturday || t.Weekday() == time.Sunday || t.Hour() >= 17:
					t = t.Truncate(24 * time.Hour).Add(33 * time.Hour)
				case t.Hour() >= 9:
					return t.Sub(at).Hours()
				default:
					t = t.Truncate(24 * time.Hour).Add(9 * time.Hour)
				}
			}
		}, files: some(5, 0.5), late: 0.01, large: 0.01, short: 0.01, noticed: 100},
		{name: "bursts, weekly", pause: normal(150, 10), files: some(40, 0.3), burst: 60, late: 0.002, large: 0.002, short: 0.002, noticed: 1.9},
	}
}

// simulate has a source polled each 15 minutes for so many arrivals. Each is called
// with polls that find something, and with the last before each: what is found of the
// source by polls in between is found by that, too.
func (y rhythm) simulate(r *rand.Rand, arrivals int, each func(h History, n int)) {
	const interval = 15 * time.Minute
	begin := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	h := History{Source: y.name, State: available, Resumed: []time.Time{begin}, Seen: begin}
	find := func(at time.Time, files, n int, each func(History, int)) {
		at = at.Truncate(interval).Add(interval) // of the poll after it
		if h.Seen = at.Add(-interval); n > 0 {
			each(h, n-1)
		}
		h.Seen = at
		bytes := int64(0)
		for range files {
			bytes += 1000 + int64(r.IntN(1000))
		}
		h.Finds = append(h.Finds, Find{At: at, Files: int64(files), Bytes: bytes, Largest: 1999})
		h.Finds = h.Finds[max(0, len(h.Finds)-maxFinds):]
		each(h, n)
	}
	find(begin, 5000, 0, each) // the first import
	for n := 1; n <= arrivals; n++ {
		at := h.Seen.Add(seconds(3600 * y.pause(r, h.Seen)))
		files, times := y.files(r), max(y.burst, 1)
		for i := range times {
			look := each
			if i%10 > 0 && i < times-1 { // the others are much the same, and there are many
				look = func(History, int) {}
			}
			find(at.Add(time.Duration(i)*20*time.Minute), 1+files/times, n, look)
		}
	}
}

// Sources of known rhythms are found late, short or unusually large by mistake no more
// often than is said, and one that has stopped is late before long.
func TestFalseAlarms(t *testing.T) {
	for _, y := range rhythms() {
		t.Run(y.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 11))
			const sources, each, learned = 6, 150, 25
			alarms := map[string]map[string]bool{Late: {}, Short: {}, Unusual: {}}
			for s := range sources {
				var stopped Expectation
				y.simulate(r, each, func(h History, n int) {
					if n < learned {
						return
					}
					stopped = Expect(h)
					for _, f := range stopped.Findings {
						alarms[f.Finding][fmt.Sprint(s, " ", n)] = true
					}
				})
				if times := stopped.LateAfter.Sub(*stopped.Last).Seconds() / stopped.Interval.Median; times > y.noticed {
					t.Errorf("one that has stopped is late after %.1f pauses, more than %.1f", times, y.noticed)
				} else {
					t.Logf("late after %.2f pauses of %.1fh", times, stopped.Interval.Median/3600)
				}
			}
			for finding, most := range map[string]float64{Late: y.late, Short: y.short, Unusual: y.large} {
				if share := float64(len(alarms[finding])) / float64(sources*(each-learned)); share > most {
					t.Errorf("%s after %.2f%% of arrivals, more than %.2f%%", finding, 100*share, 100*most)
				} else {
					t.Logf("%s: %.2f%%", finding, 100*share)
				}
			}
		})
	}
}
