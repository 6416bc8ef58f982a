// Package plot draws the answers to questions: in a terminal, in blocks and
// dots of braille, and as SVG or PNG.
package plot

import (
	"math"
	"strconv"
)

// The kinds of figures.
const (
	Line    = "line"    // values over time
	Scatter = "scatter" // points, on logarithmic axes
	Bars    = "bars"    // one value for each name
)

// Figure is what is drawn. Its texts must be plain: of one line, without
// control characters.
type Figure struct {
	Kind, Title  string
	XName, YName string
	Bars         []Bar    // of Bars
	Series       []Series // of Line and Scatter
	Left         int      // bars or series that were left out because there are too many
}

// Bar is a named value.
type Bar struct {
	Name  string
	Value float64
}

// Series are points that belong together. X is in seconds since 1970 where the
// figure is a Line. Points on logarithmic axes are above 0.
type Series struct {
	Name string
	X, Y []float64
}

// Empty tells whether there is nothing to draw.
func (f Figure) Empty() bool {
	for _, s := range f.Series {
		if len(s.X) > 0 {
			return false
		}
	}
	return len(f.Bars) == 0
}

// short is a number in few letters: 1.2M.
func short(v float64) string {
	units := []string{"", "k", "M", "G", "T", "P"}
	n := 0
	for math.Abs(v) >= 999.5 && n < len(units)-1 {
		v /= 1000
		n++
	}
	digits := 0
	if a := math.Abs(v); a != 0 && a < 9.95 && v != math.Trunc(v) {
		digits = 2
	} else if a < 99.5 && v != math.Trunc(v) {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + units[n]
}

// bounds are the least and the greatest of the values.
func bounds(all ...[]float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, values := range all {
		for _, v := range values {
			least, most = min(least, v), max(most, v)
		}
	}
	return least, most
}

// around is an axis for one value alone, which then lies in its middle: an hour
// either way in time, from half to twice of it on a logarithmic axis.
func around(kind string, v float64) (least, most float64) {
	const hour = 3600
	if kind == Line {
		return v - hour, v + hour
	}
	return v / 2, v * 2
}
