package pages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tributary/queries/report"
	"tributary/web/past"
)

// slider is the parameter of addresses that a rail's slider gives: seconds since 1970.
const slider = "at"

// rail is a stretch of time with what was received in it, along which people move the
// moment that a page shows.
type rail struct {
	Label          string // says the same in words
	Wide           int    // how many steps it has
	Bars           []railBar
	From, Long     string // where what is marked begins, and how long it is, in steps
	Min, Max, Step int64  // of the slider
	Value          int64
	Scale          []string // when its equal parts begin
}

// railBar is what was received in one step.
type railBar struct {
	X         int
	Y, Height string
	Later     bool // than the moment that is shown
}

// stretch is how much of time a rail shows. It ends where a part ends, so that the parts
// begin at even times.
type stretch struct {
	report.Span

	part   time.Duration // into which it is divided, a whole number of these
	layout string        // of the moments at which these begin
}

// stretches are those of which a rail shows one: the shortest that has all history, or
// else a week.
func stretches() []stretch {
	const day = 24 * time.Hour
	return []stretch{
		{report.Span{Name: "15 s", Step: 15 * time.Second, Steps: 120}, 5 * time.Minute, "15:04"},
		{report.Span{Name: "a minute", Step: time.Minute, Steps: 180}, 30 * time.Minute, "15:04"},
		{report.Span{Name: "15 minutes", Step: 15 * time.Minute, Steps: 96}, 4 * time.Hour, "15:04"},
		{report.Span{Name: "an hour", Step: time.Hour, Steps: 168}, day, "2 Jan"},
	}
}

// stretchOf is the stretch that shows a time from one moment to another, and when it ends;
// ok is false if that is longer than any of them. Where the history begins at since (zero:
// nobody knows), nothing is shown of before if that leaves more room for the rest.
func stretchOf(from, to, since, now time.Time) (s stretch, end time.Time, ok bool) {
	all := stretches()
	for _, s := range all {
		end := now.UTC().Truncate(s.part).Add(s.part)
		if begin := end.Add(-s.Length()); !begin.After(from) && !since.IsZero() && !begin.After(since) {
			return s, end, true
		}
	}
	s = all[len(all)-1]
	end = now.UTC().Truncate(s.part).Add(s.part)
	if end.Add(-s.Length()).After(from) { // longer ago: the moments are in its middle
		middle := from.Add(to.Sub(from) / 2).UTC().Truncate(s.part)
		end = middle.Add(s.part * time.Duration(1+int(s.Length()/s.part)/2))
	}
	return s, end, !end.Add(-s.Length()).After(from) && !to.After(end)
}

// newRail draws what was received around a time from one moment to another; nil if that is
// longer than a rail. What came is asked of the tracker of now.
func (s *Site) newRail(ctx context.Context, from, to, since time.Time) (*rail, error) {
	x, end, ok := stretchOf(from, to, since, s.Now())
	if !ok {
		return nil, nil
	}
	came, err := report.Received(ctx, s.Tracker, end, x.Span)
	if err != nil {
		return nil, err
	}
	begin := end.Add(-x.Length())
	at := func(t time.Time) float64 { return float64(t.Sub(begin)) / float64(x.Step) }
	r := &rail{Wide: x.Steps, Min: begin.Unix(), Max: end.Unix(), Step: int64(x.Step.Seconds()), Value: to.Unix(),
		From: fmt.Sprintf("%.2f", at(from)), Long: fmt.Sprintf("%.2f", max(0.6, at(to)-at(from)))}
	most := slices.Max(came.Values)
	for i, n := range came.Values {
		if n > 0 {
			high := max(1, 29*n/most)
			r.Bars = append(r.Bars, railBar{X: i, Y: fmt.Sprintf("%.1f", 30-high), Height: fmt.Sprintf("%.1f", high), Later: float64(i) >= at(to)})
		}
	}
	for t := begin; t.Before(end); t = t.Add(x.part) {
		r.Scale = append(r.Scale, t.Format(x.layout))
	}
	r.Label = fmt.Sprintf("Files received from %s to %s: %s in all, at most %s in %s", begin.Format("2 Jan 2006, 15:04"), end.Format("2 Jan 2006, 15:04 UTC"), count(int64(came.Total)), count(int64(most)), x.Name)
	return r, nil
}

// slid is the address to which the slider of a rail leads: that of the same page at its
// moment. One that is still to come is now.
func (s *Site) slid(r *http.Request) (string, error) {
	given := r.URL.Query().Get(slider)
	seconds, err := strconv.ParseInt(given, 10, 64)
	if err != nil {
		return "", &past.Problem{Name: "bad_moment", Status: http.StatusBadRequest, Where: slider, Detail: fmt.Sprintf("%s: %.40q is no number of seconds", slider, given)}
	}
	if seconds >= s.Now().Unix() {
		return s.here(r, time.Time{}), nil
	}
	return s.here(r, time.Unix(seconds, 0)), nil
}

// way leads from the moment of a page to another one.
type way struct {
	Text, To string
	Key      string // that does the same; empty: none
}

// steps are the moments next to one: the ends of the sessions before and after it, and
// those an hour and a day away. What is still to come, or was before since, has none.
func (s *Site) steps(ctx context.Context, r *http.Request, at, since time.Time) (back, on []way, err error) {
	before, after, err := report.EndsAround(ctx, s.Tracker, at)
	if err != nil {
		return nil, nil, err
	}
	add := func(to *[]way, text, key string, t time.Time) {
		if !t.Before(since) && t.Before(s.Now()) {
			*to = append(*to, way{text, s.here(r, t), key})
		}
	}
	if before != nil {
		add(&back, "‹ Session "+count(before.Number), "", before.At)
	}
	add(&back, "− 1 d", "", at.Add(-24*time.Hour))
	add(&back, "− 1 h", "[", at.Add(-time.Hour))
	add(&on, "+ 1 h", "]", at.Add(time.Hour))
	add(&on, "+ 1 d", "", at.Add(24*time.Hour))
	if after != nil {
		add(&on, "Session "+count(after.Number)+" ›", "", after.At)
	}
	return back, on, nil
}
