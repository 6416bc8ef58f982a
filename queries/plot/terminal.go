package plot

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// rowsOfAChart is the height of one series' chart, in lines.
const rowsOfAChart = 8

// Terminal draws the figure for a terminal of the given width in columns, but
// at least 40. Each series has a chart of its own, on the same axes.
func (f Figure) Terminal(w io.Writer, width int) error {
	width = max(width, 40)
	var b strings.Builder
	fmt.Fprintln(&b, f.Title)
	if f.Kind == Bars {
		f.bars(&b, width)
	} else {
		f.charts(&b, width)
	}
	if f.Left > 0 {
		fmt.Fprintf(&b, "%d more are left out; -o table lists all\n", f.Left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f Figure) bars(b *strings.Builder, width int) {
	names, most := 0, 0.0
	for _, bar := range f.Bars {
		names, most = max(names, utf8.RuneCountInString(bar.Name)), max(most, math.Abs(bar.Value))
	}
	names = min(names, width/2)
	room := max(width-names-10, 8)
	for _, bar := range f.Bars {
		fmt.Fprintf(b, "%s  %s %s\n", fit(bar.Name, names), blocks(bar.Value, most, room), short(bar.Value))
	}
	fmt.Fprintf(b, "%s  %s\n", strings.Repeat(" ", names), f.YName)
}

// fit is the text in just so many columns: filled up, or cut.
func fit(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		return string(r[:max(n-1, 0)]) + "…"
	}
	return s + strings.Repeat(" ", n-len(r))
}

// blocks is a bar, in eighths of a column.
func blocks(v, most float64, room int) string {
	if most <= 0 {
		return ""
	}
	eighths := int(math.Round(math.Abs(v) / most * float64(room*8)))
	if eighths == 0 && v != 0 {
		eighths = 1
	}
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string(rune('█' + 8 - rest))
	}
	return text
}

// axis places values along some number of dots.
type axis struct {
	from, to float64
	log      bool
	dots     int
}

func (f Figure) axisOf(values [][]float64, log bool, dots int) axis {
	least, most := bounds(values...)
	if least == most {
		least, most = around(f.Kind, least)
	}
	return axis{from: least, to: most, log: log, dots: dots}
}

// upFromZero is the axis of values that begin at 0, or below it where some are.
func upFromZero(values [][]float64, dots int) axis {
	least, most := bounds(values...)
	a := axis{from: min(0, least), to: most, dots: dots}
	if a.to <= a.from {
		a.to = a.from + 1
	}
	return a
}

func (a axis) at(v float64) int {
	from, to := a.from, a.to
	if a.log {
		v, from, to = math.Log(v), math.Log(from), math.Log(to)
	}
	return min(max(int(math.Round((v-from)/(to-from)*float64(a.dots-1))), 0), a.dots-1)
}

func (f Figure) charts(b *strings.Builder, width int) {
	var xs, ys [][]float64
	for _, s := range f.Series {
		xs, ys = append(xs, s.X), append(ys, s.Y)
	}
	const margin = 8 // for the numbers at the left
	log := f.Kind == Scatter
	columns := width - margin
	x, y := f.axisOf(xs, log, columns*2), f.axisOf(ys, log, rowsOfAChart*4)
	if !log {
		y = upFromZero(ys, y.dots)
	}
	for _, s := range f.Series {
		if s.Name != "" {
			fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", margin), strings.TrimRight(fit(s.Name, columns), " "))
		}
		c := newCanvas(columns, rowsOfAChart)
		for i := range s.X {
			c.dot(x.at(s.X[i]), y.at(s.Y[i]))
			if f.Kind == Scatter {
				c.blot(x.at(s.X[i]), y.at(s.Y[i]))
			}
			if len(s.X) == 1 && f.Kind == Line {
				c.blot(x.at(s.X[i]), y.at(s.Y[i]))
			}
			if i > 0 && f.Kind == Line {
				c.line(x.at(s.X[i-1]), y.at(s.Y[i-1]), x.at(s.X[i]), y.at(s.Y[i]))
			}
		}
		for n, row := range c.rows() {
			label := ""
			switch n {
			case 0:
				label = short(y.to)
			case rowsOfAChart - 1:
				label = short(y.from)
			}
			fmt.Fprintf(b, "%*s ┤%s\n", margin-2, label, row)
		}
	}
	left, right := f.edge(x.from), f.edge(x.to)
	gap := max(columns-utf8.RuneCountInString(left)-utf8.RuneCountInString(right), 1)
	fmt.Fprintf(b, "%s%s%s%s\n", strings.Repeat(" ", margin), left, strings.Repeat(" ", gap), right)
	fmt.Fprintf(b, "%s%s, by %s\n", strings.Repeat(" ", margin), f.YName, f.XName)
}

// edge names an end of the axis.
func (f Figure) edge(v float64) string {
	if f.Kind == Line {
		return time.Unix(int64(v), 0).UTC().Format("2006-01-02 15:04")
	}
	return short(v)
}

// canvas is a grid of dots, eight to a column and row.
type canvas struct {
	columns, lines int
	cells          []rune
}

func newCanvas(columns, lines int) *canvas {
	return &canvas{columns, lines, make([]rune, columns*lines)}
}

// dot sets the dot x from the left and y from the bottom.
func (c *canvas) dot(x, y int) {
	bits := [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}} // of braille, from the top
	down := c.lines*4 - 1 - y
	c.cells[down/4*c.columns+x/2] |= bits[down%4][x%2]
}

// blot sets the dots around one, which is too small to be seen alone.
func (c *canvas) blot(x, y int) {
	for _, d := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
		c.dot(min(max(x+d[0], 0), c.columns*2-1), min(max(y+d[1], 0), c.lines*4-1))
	}
}

// line sets the dots between two.
func (c *canvas) line(x0, y0, x1, y1 int) {
	steps := max(abs(x1-x0), abs(y1-y0))
	for i := 1; i < steps; i++ {
		c.dot(x0+(x1-x0)*i/steps, y0+(y1-y0)*i/steps)
	}
}

func (c *canvas) rows() []string {
	out := make([]string, c.lines)
	for n := range out {
		row := make([]rune, c.columns)
		for i := range row {
			row[i] = 0x2800 + c.cells[n*c.columns+i]
		}
		out[n] = string(row)
	}
	return out
}

func abs(n int) int { return max(n, -n) }
