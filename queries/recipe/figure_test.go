package recipe

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/queries/plot"
	"tributary/sql/history/recipes"
)

func TestFigureOfLines(t *testing.T) {
	r := recipes.Recipe{Name: "r", Question: "How much?", Plot: &recipes.Plot{Kind: plot.Line, X: "period", Y: "bytes_in", Series: "source"}}
	f, err := Figure(r, []byte(`{"period":"1970-01-01T00:00:10Z","source":"a\u001b[31m","bytes_in":5}
{"period":"1970-01-01T00:00:20Z","source":"a\u001b[31m","bytes_in":null}
{"period":"1970-01-01T00:00:20Z","source":"b","bytes_in":7.5}
{"period":"1970-01-01T00:00:40Z","source":"a\u001b[31m","bytes_in":6}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := plot.Figure{Kind: plot.Line, Title: "How much?", XName: "period", YName: "bytes in",
		Series: []plot.Series{{Name: `a\x1b[31m`, X: []float64{10, 20, 30, 40}, Y: []float64{5, 0, 0, 6}}, {Name: "b", X: []float64{10, 20, 30, 40}, Y: []float64{0, 7.5, 0, 0}}}}
	if diff := gocmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFigureOfBars(t *testing.T) {
	r := recipes.Recipe{Name: "r", Question: "How much?", Plot: &recipes.Plot{Kind: plot.Bars, X: "exception", Y: "failures", Series: "centre"}}
	var b strings.Builder
	for n := range maxBars + 3 {
		fmt.Fprintf(&b, "{\"exception\":\"x%d\",\"failures\":%d,\"centre\":\"H\"}\n", n, 1000-n)
	}
	b.WriteString(`{"exception":"x0","failures":5,"centre":"H"}` + "\n")
	f, err := Figure(r, []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Bars) != maxBars || f.Left != 3 || f.Bars[0] != (plot.Bar{Name: "x0, H", Value: 1005}) {
		t.Errorf("%d bars, %d left out, the first is %v", len(f.Bars), f.Left, f.Bars[0])
	}
}

func TestFigureOfAScatterLeavesOutWhatHasNoLogarithm(t *testing.T) {
	r := recipes.Recipe{Name: "r", Question: "How fast?", Plot: &recipes.Plot{Kind: plot.Scatter, X: "size", Y: "speed"}}
	f, err := Figure(r, []byte(`{"size":0,"speed":1}
{"size":10,"speed":0}
{"size":10,"speed":100}
`))
	if err != nil || len(f.Series) != 1 || len(f.Series[0].X) != 1 {
		t.Errorf("%v, %v; want one point", f.Series, err)
	}
	if _, err := Figure(recipes.Recipe{Name: "r"}, nil); err == nil {
		t.Error("a list is drawn")
	}
}
