package recipe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"tributary/internal/screen"
	"tributary/queries/plot"
	"tributary/sql/history/recipes"
)

// Bounds of what is drawn.
const (
	maxBars   = 40
	maxSeries = 8
	maxFilled = 20000 // periods of a line
)

// Figure makes a figure of a recipe's answer: lines of JSON, an object each.
func Figure(r recipes.Recipe, answer []byte) (plot.Figure, error) {
	if r.Plot == nil {
		return plot.Figure{}, fmt.Errorf("report %s is a list, which no picture tells better", r.Name)
	}
	name := func(column string) string { return strings.ReplaceAll(column, "_", " ") }
	f := plot.Figure{Kind: r.Plot.Kind, Title: r.Question, XName: name(r.Plot.X), YName: name(r.Plot.Y)}
	groups := newGroups()
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	for {
		var row map[string]any
		switch err := d.Decode(&row); {
		case errors.Is(err, io.EOF):
			groups.into(&f)
			return f, nil
		case err != nil:
			return f, fmt.Errorf("read the answer of report %s: %w", r.Name, err)
		}
		y, ok := number(row[r.Plot.Y])
		if !ok {
			continue
		}
		series := label(row[r.Plot.Series])
		if f.Kind == plot.Bars {
			text := label(row[r.Plot.X])
			if series != "" {
				text += ", " + series
			}
			groups.bar(text, y)
			continue
		}
		if x, ok := number(row[r.Plot.X]); ok && (f.Kind != plot.Scatter || x > 0 && y > 0) {
			groups.point(series, x, y)
		}
	}
}

// number is a value as a number; a time is in seconds since 1970.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case json.Number:
		n, err := x.Float64()
		return n, err == nil
	case string:
		t, err := time.Parse(time.RFC3339Nano, x)
		return float64(t.UnixMicro()) / 1e6, err == nil
	}
	return 0, false
}

// label is a value as text that is safe to show.
func label(v any) string {
	if v == nil {
		return ""
	}
	return screen.Line(fmt.Sprint(v))
}

// groups gathers bars and points by their names, in the order in which they
// come.
type groups struct {
	order  []string
	sums   map[string]float64
	points map[string]*plot.Series
}

func newGroups() *groups {
	return &groups{sums: map[string]float64{}, points: map[string]*plot.Series{}}
}

func (g *groups) add(name string, y float64) {
	if _, ok := g.sums[name]; !ok {
		g.order = append(g.order, name)
	}
	g.sums[name] += y
}

func (g *groups) bar(name string, y float64) { g.add(name, y) }

func (g *groups) point(name string, x, y float64) {
	g.add(name, y)
	s, ok := g.points[name]
	if !ok {
		s = &plot.Series{Name: name}
		g.points[name] = s
	}
	s.X, s.Y = append(s.X, x), append(s.Y, y)
}

// into puts what was gathered into the figure: the first bars, and the series
// with the greatest sums.
func (g *groups) into(f *plot.Figure) {
	if f.Kind == plot.Bars {
		for _, name := range g.order[:min(len(g.order), maxBars)] {
			f.Bars = append(f.Bars, plot.Bar{Name: name, Value: g.sums[name]})
		}
		f.Left = len(g.order) - len(f.Bars)
		return
	}
	kept := slices.Clone(g.order)
	slices.SortStableFunc(kept, func(a, b string) int { return cmp.Compare(g.sums[b], g.sums[a]) })
	kept = kept[:min(len(kept), maxSeries)]
	for _, name := range g.order {
		if slices.Contains(kept, name) {
			f.Series = append(f.Series, *g.points[name])
		}
	}
	f.Left = len(g.order) - len(f.Series)
	if f.Kind == plot.Line {
		fill(f.Series)
	}
}

// fill adds points at 0 for periods in which nothing happened, which have no
// rows: a line must not hide them. Periods are as long as the least distance
// between two.
func fill(series []plot.Series) {
	var xs []float64
	for _, s := range series {
		xs = append(xs, s.X...)
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	if len(xs) < 2 {
		return
	}
	period := xs[1] - xs[0]
	for i := 2; i < len(xs); i++ {
		period = min(period, xs[i]-xs[i-1])
	}
	first, periods := xs[0], int(math.Round((xs[len(xs)-1]-xs[0])/period))
	if periods > maxFilled {
		return
	}
	for i, s := range series {
		values := make(map[int]float64, len(s.X))
		for j, x := range s.X {
			values[int(math.Round((x-first)/period))] = s.Y[j]
		}
		whole := plot.Series{Name: s.Name}
		for n := range periods + 1 {
			whole.X, whole.Y = append(whole.X, first+float64(n)*period), append(whole.Y, values[n])
		}
		series[i] = whole
	}
}
