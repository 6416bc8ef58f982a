package pages

import (
	"fmt"
	"slices"
	"strings"

	"tributary/queries/report"
)

// spark is a small drawing of a series: zero at its foot, the newest at the right.
type spark struct {
	Label       string // says the same in words
	Path, Usual string // of SVG; Usual is empty where nothing is usual
	EndX, EndY  string
	Bad         bool // what it counts is bad
}

// The box that a spark is drawn in.
const (
	sparkHigh = 40
	sparkTop  = 1.5
	sparkFoot = 38.5
)

// newSpark draws values; usual is the value of a step that would be usual, or nil.
func newSpark(label string, values []float64, usual *float64) spark {
	s := spark{Label: label}
	top := 0.0
	if len(values) > 0 {
		top = slices.Max(values)
	}
	if usual != nil {
		top = max(top, *usual)
	}
	y := func(v float64) float64 {
		if top <= 0 {
			return sparkFoot
		}
		return sparkFoot - (sparkFoot-sparkTop)*v/top
	}
	var b strings.Builder
	for i, v := range values {
		x := 100 * float64(i) / float64(max(1, len(values)-1))
		fmt.Fprintf(&b, "%.1f %.1f ", x, y(v))
		s.EndX, s.EndY = fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", y(v))
	}
	if b.Len() > 0 {
		s.Path = "M" + strings.TrimSpace(b.String())
	}
	if usual != nil {
		s.Usual = fmt.Sprintf("M0 %.1fH100", y(*usual))
	}
	return s
}

// ticks are the last polls of a source, the newest at the right; height repeats colour.
type ticks struct {
	Label string
	Bars  []tick
}

type tick struct{ Status, X, Y, Height string }

// tickCount is how many polls are drawn.
const tickCount = 24

// newTicks draws polls, which are given the newest first.
func newTicks(source string, polls []report.Poll) ticks {
	polls = polls[:min(len(polls), tickCount)]
	news, failed := 0, 0
	var t ticks
	for i, p := range polls {
		bar := tick{"none", fmt.Sprintf("%.1f", 5.1*float64(tickCount-1-i)), "13", "5"}
		switch {
		case p.Status == "failed":
			bar.Status, bar.Y, bar.Height = "failed", "0", "18"
			failed++
		case p.News():
			bar.Status, bar.Y, bar.Height = "done", "5", "13"
			news++
		}
		t.Bars = append(t.Bars, bar)
	}
	t.Label = fmt.Sprintf("The last %s of %s: %d with news, %d failed", plural(len(polls), "poll", "polls"), source, news, failed)
	return t
}
