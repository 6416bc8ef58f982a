package plot

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Format is the format that a file's name asks for: svg or png.
func Format(name string) (string, error) {
	switch format := strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), "."); format {
	case "svg", "png":
		return format, nil
	}
	return "", fmt.Errorf("%q ends neither in .svg nor in .png", name)
}

// Write draws the figure as svg or png.
func (f Figure) Write(w io.Writer, format string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.XName, f.YName
	p.Title.Padding = vg.Points(8)
	p.Legend.Top = true
	width, height := 24*vg.Centimeter, 12*vg.Centimeter
	var err error
	if f.Kind == Bars {
		height = vg.Length(len(f.Bars))*0.7*vg.Centimeter + 4*vg.Centimeter
		err = f.addBars(p)
	} else {
		err = f.addSeries(p)
	}
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		c = vgsvg.New(width, height)
	} else {
		c = vgimg.PngCanvas{Canvas: vgimg.New(width, height)}
	}
	p.Draw(draw.New(c))
	if _, err := c.WriteTo(w); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// addBars draws them lying, the first on top, so that names can be read.
func (f Figure) addBars(p *plot.Plot) error {
	p.X.Label.Text, p.Y.Label.Text = f.YName, f.XName
	n := len(f.Bars)
	values, names := make(plotter.Values, n), make([]string, n)
	for i, bar := range f.Bars {
		values[n-1-i], names[n-1-i] = bar.Value, fit(bar.Name, min(len([]rune(bar.Name)), 60))
	}
	bars, err := plotter.NewBarChart(values, vg.Points(12))
	if err != nil {
		return err
	}
	bars.Horizontal, bars.LineStyle.Width, bars.Color = true, 0, plotutil.SoftColors[2]
	p.Add(bars)
	p.NominalY(names...)
	p.X.Min = min(p.X.Min, 0)
	return nil
}

// moments is how an axis of time names them.
const moments = "01-02\n15:04"

// momentsAt marks the given moments of an axis.
func momentsAt(at ...float64) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(at))
	for i, v := range at {
		ticks[i] = plot.Tick{Value: v, Label: time.Unix(int64(v), 0).UTC().Format(moments)}
	}
	return ticks
}

func (f Figure) addSeries(p *plot.Plot) error {
	p.Add(plotter.NewGrid())
	for i, s := range f.Series {
		points := make(plotter.XYs, len(s.X))
		for j := range s.X {
			points[j] = plotter.XY{X: s.X[j], Y: s.Y[j]}
		}
		var thumb plot.Thumbnailer
		if f.Kind == Line {
			line, err := plotter.NewLine(points)
			if err != nil {
				return err
			}
			line.Color, line.Width = plotutil.Color(i), vg.Points(1.5)
			line.Dashes = plotutil.Dashes(i / 7)
			p.Add(line)
			if len(points) == 1 { // no line leads to it
				dot, err := plotter.NewScatter(points)
				if err != nil {
					return err
				}
				dot.Color, dot.Shape, dot.Radius = line.Color, draw.CircleGlyph{}, vg.Points(3)
				p.Add(dot)
			}
			thumb = line
		} else {
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			dots.Color, dots.Shape = plotutil.Color(i), plotutil.Shape(i)
			p.Add(dots)
			thumb = dots
		}
		if s.Name != "" {
			p.Legend.Add(fit(s.Name, min(len([]rune(s.Name)), 60)), thumb)
		}
	}
	if f.Kind == Line {
		p.X.Tick.Marker = plot.TimeTicks{Format: moments}
		if only := p.X.Min; p.X.Max <= only {
			p.X.Min, p.X.Max = around(f.Kind, only)
			p.X.Tick.Marker = momentsAt(p.X.Min, only, p.X.Max)
		}
		p.Y.Min = min(p.Y.Min, 0)
		if p.Y.Max <= p.Y.Min { // nothing but 0, which lies at the bottom
			p.Y.Max = p.Y.Min + 1
		}
		return nil
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if a.Max <= a.Min {
			a.Min, a.Max = around(f.Kind, a.Min)
		}
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{}
	}
	return nil
}
