package screen

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// Terminal is a terminal that people look at. What is written goes through Text;
// a picture of some lines may stand below it, which is drawn over when it changes.
// It is safe for concurrent use.
type Terminal struct {
	f *os.File

	mu      sync.Mutex
	rest    []byte   // the beginning of a character whose other bytes are still to be written
	lines   []string // of the picture
	drawn   int      // lines of it that stand on the terminal, the last of them with the cursor
	columns int      // of the terminal when it was drawn
}

// usualColumns and usualRows are the size of what tells none.
const (
	usualColumns = 100
	usualRows    = 24
)

// Of is how to write to f: a *Terminal where f is one, else f itself, which gets
// what is written as it is.
func Of(f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) {
		return f
	}
	return &Terminal{f: f}
}

// On is the terminal behind a writer that Of made; nil if it is none.
func On(w io.Writer) *Terminal {
	t, _ := w.(*Terminal)
	return t
}

// Columns is how wide the terminal behind a writer is; 100 for anything else.
func Columns(w io.Writer) int {
	if t := On(w); t != nil {
		columns, _ := t.size()
		return columns
	}
	return usualColumns
}

// Write shows p above the picture, as Text does. While there is a picture, p
// should end with a line.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := slices.Concat(t.rest, p)
	n := complete(whole)
	t.rest = append([]byte(nil), whole[n:]...)
	text := t.erased() + Text(string(whole[:n]))
	if len(t.lines) > 0 && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, err := io.WriteString(t.f, text+t.picture()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// complete is how many bytes of p are whole characters.
func complete(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return at
			}
			break
		}
	}
	return len(p)
}

// Draw shows a picture below what was written, in the place of the one before;
// without lines it only takes that away. Lines are made safe by Line, cut at the
// terminal's width, and left out beyond its height, which are asked for each time.
func (t *Terminal) Draw(lines ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = lines
	if _, err := io.WriteString(t.f, t.erased()+t.picture()); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// erased takes the picture away. Where the terminal has become narrower, nobody
// knows on how many lines it has put it: then only the last is taken away, since
// those above may be others'.
func (t *Terminal) erased() string {
	if t.drawn == 0 {
		return ""
	}
	up := t.drawn - 1
	t.drawn = 0
	columns, rows := t.size()
	if columns < t.columns {
		up = 0
	}
	if up = min(up, rows-1); up > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
	}
	return "\r\x1b[J"
}

// picture draws the lines.
func (t *Terminal) picture() string {
	if len(t.lines) == 0 {
		return ""
	}
	columns, rows := t.size()
	lines := make([]string, min(len(t.lines), max(rows-1, 1)))
	for i := range lines {
		lines[i] = cut(Line(t.lines[i]), columns-1)
	}
	t.drawn, t.columns = len(lines), columns
	return strings.Join(lines, "\n")
}

// size is the terminal's, at this moment.
func (t *Terminal) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return usualColumns, usualRows
	}
	return columns, rows
}

// cut is as much of a line as fits into so many columns.
func cut(line string, columns int) string {
	used := 0
	for i, r := range line {
		if used += columnsOf(r); used > columns {
			return line[:i]
		}
	}
	return line
}

// columnsOf is how many columns a character takes at most.
func columnsOf(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth, width.EastAsianAmbiguous:
		return 2
	}
	return 1
}
