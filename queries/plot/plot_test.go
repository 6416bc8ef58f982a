package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const hostile = `<script>&"'</text>]]>--;`

func figures() map[string]Figure {
	line := []Series{{Name: hostile, X: []float64{0, 3600, 7200}, Y: []float64{0, 5, 2}}, {Name: "b", X: []float64{3600}, Y: []float64{4}}}
	return map[string]Figure{
		"line":          {Kind: Line, Title: hostile, XName: "time", YName: "bytes", Series: line},
		"one point":     {Kind: Line, Title: "t", XName: "time", YName: "bytes", Series: line[1:]},
		"all the same":  {Kind: Line, Title: "t", XName: "time", YName: "bytes", Series: []Series{{Name: "", X: []float64{1, 2}, Y: []float64{0, 0}}}},
		"scatter":       {Kind: Scatter, Title: "t", XName: "size", YName: "speed", Series: []Series{{Name: hostile, X: []float64{1, 1e9}, Y: []float64{1e3, 1e7}}}},
		"scatter, one":  {Kind: Scatter, Title: "t", XName: "size", YName: "speed", Series: []Series{{X: []float64{5}, Y: []float64{7}}}},
		"bars":          {Kind: Bars, Title: hostile, XName: "name", YName: "count", Bars: []Bar{{hostile, 10}, {"b", 2.5}, {"c", 0}}, Left: 3},
		"bars, nothing": {Kind: Bars, Title: "t", XName: "name", YName: "count", Bars: []Bar{{"a", 0}}},
		"bars, below 0": {Kind: Bars, Title: "t", XName: "name", YName: "count", Bars: []Bar{{"a", -3}, {"b", 4}}},
		"bars, many":    {Kind: Bars, Title: "t", XName: "name", YName: "count", Bars: make([]Bar, 40)},
	}
}

// Nothing is drawn at the bottom, where 0 is, and not at the top.
func TestALineOfNothingIsAtTheBottom(t *testing.T) {
	var out strings.Builder
	if err := figures()["all the same"].Terminal(&out, 60); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	top, bottom := lines[1], lines[rowsOfAChart]
	if strings.Trim(top, " 1┤\u2800") != "" || !strings.HasPrefix(strings.TrimSpace(bottom), "0 ┤") || !strings.ContainsRune(bottom, '⣀') {
		t.Errorf("drawn as\n%s", out.String())
	}
}

// A corpus that spans one moment of an answer, such as an hour, is drawn in the
// middle of an axis with two ends, and can be seen.
func TestOneMoment(t *testing.T) {
	f := Figure{Kind: Line, Title: "t", XName: "hour", YName: "files", Series: []Series{{Name: "a", X: []float64{1772366400}, Y: []float64{3}}, {Name: "b", X: []float64{1772366400}, Y: []float64{6}}}}
	var out strings.Builder
	if err := f.Terminal(&out, 60); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.Contains(text, "2026-03-01 11:00") || !strings.Contains(text, "2026-03-01 13:00") {
		t.Errorf("the axis has no two ends:\n%s", text)
	}
	const columns = 60 - 8
	lines := strings.Split(text, "\n")
	for name, line := range map[string]string{"a": lines[2+rowsOfAChart/2-1] + lines[2+rowsOfAChart/2], "b": lines[3+rowsOfAChart]} {
		row := []rune(line)
		var dots []int
		for i, r := range row {
			if r > 0x2800 && r <= 0x28ff {
				dots = append(dots, i-8)
			}
		}
		if len(dots) == 0 || dots[0]%(columns+8) < columns/2-2 || dots[0]%(columns+8) > columns/2+1 {
			t.Errorf("%s is drawn in the columns %v of %d:\n%s", name, dots, columns, text)
		}
	}
	var svg bytes.Buffer
	if err := f.Write(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"11:00", "12:00", "13:00"} {
		if !strings.Contains(svg.String(), ">"+label+"<") {
			t.Errorf("no %s is on the axis of the picture", label)
		}
	}
}

// Whatever is drawn is whole, and names stay names.
func TestFiles(t *testing.T) {
	for name, f := range figures() {
		var svg, img bytes.Buffer
		if err := f.Write(&svg, "svg"); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := f.Write(&img, "png"); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := png.Decode(&img); err != nil {
			t.Errorf("%s: no PNG: %v", name, err)
		}
		texts, err := texts(svg.String())
		if err != nil {
			t.Errorf("%s: no SVG: %v", name, err)
		}
		if !strings.Contains(texts, f.Title) {
			t.Errorf("%s: the title is not among the texts %q", name, texts)
		}
	}
}

// texts are those of an SVG; an error says why it is none, or that it has
// elements that nobody drew.
func texts(svg string) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return b.String(), nil
		case err != nil:
			return "", err
		}
		switch x := token.(type) {
		case xml.CharData:
			b.Write(x)
		case xml.StartElement:
			if x.Name.Local == "script" {
				return "", fmt.Errorf("there is a script")
			}
		}
	}
}

func TestFormat(t *testing.T) {
	for name, want := range map[string]string{"a.svg": "svg", "b/c.PNG": "png", "a.pdf": "", "svg": "", "": ""} {
		if got, err := Format(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestTerminalBars(t *testing.T) {
	var b strings.Builder
	f := Figure{Kind: Bars, Title: "How many?", YName: "failures", Bars: []Bar{{"short", 32}, {"a name that is far too long for such a terminal", 16}, {"c", 1}, {"d", 0}}, Left: 2}
	if err := f.Terminal(&b, 40); err != nil {
		t.Fatal(err)
	}
	want := `How many?
short                 ██████████ 32
a name that is far …  █████ 16
c                     ▍ 1
d                      0
                      failures
2 more are left out; -o table lists all
`
	if diff := gocmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTerminalLine(t *testing.T) {
	var b strings.Builder
	f := Figure{Kind: Line, Title: "How much?", XName: "time", YName: "bytes", Series: []Series{{Name: "a", X: []float64{0, 7200}, Y: []float64{0, 3100}}}}
	if err := f.Terminal(&b, 40); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 13 || !strings.HasPrefix(lines[2], " 3.10k ┤") || !strings.HasPrefix(lines[9], "     0 ┤") {
		t.Fatalf("the chart is\n%s", b.String())
	}
	// A rising line begins at the bottom left and ends at the top right.
	top, bottom := []rune(lines[2]), []rune(lines[9])
	if bottom[8] == 0x2800 || top[len(top)-1] == 0x2800 || top[8] != 0x2800 || bottom[len(bottom)-1] != 0x2800 {
		t.Errorf("the line does not rise:\n%s", b.String())
	}
	if want := "        1970-01-01 00:00"; !strings.HasPrefix(lines[10], want) || !strings.HasSuffix(lines[10], "1970-01-01 02:00") {
		t.Errorf("the axis is %q", lines[10])
	}
}

// Every figure can be drawn in a terminal of any width, no line wider.
func TestTerminalWidths(t *testing.T) {
	for name, f := range figures() {
		for _, width := range []int{0, 40, 79, 200} {
			var b strings.Builder
			if err := f.Terminal(&b, width); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, line := range strings.Split(b.String(), "\n")[1:] {
				if n := len([]rune(line)); n > max(width, 40)+1 {
					t.Errorf("%s: a line of %d in %d columns: %q", name, n, width, line)
				}
			}
		}
	}
}

func TestShort(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "5": 5, "0.25": 0.25, "12.5": 12.5, "999": 999, "1k": 1000, "1.20M": 1.2e6, "-3": -3, "500G": 5e11} {
		if got := short(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
