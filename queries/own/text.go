package own

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"tributary/internal/screen"
	"tributary/schemas/exception"
)

// Title says in a sentence what came in a time, and what is to be corrected of it.
func (s Summary) Title() string {
	came := "No file of yours came"
	if s.Came > 0 {
		came = plural(s.Came, "file of yours came", "files of yours came")
	}
	switch n := s.ToCorrect(); {
	case n > 0:
		return came + "; " + plural(n, "needs", "need") + " a correction from you."
	case s.Failed > 0:
		return came + "; " + plural(s.Failed, "waits", "wait") + " for the data centre."
	case s.Came > 0 && s.Underway == 0:
		return came + ", and none needs a correction."
	}
	return came + "."
}

// Parts says how what came stands now, one part for each that there is.
func (s Summary) Parts() (out []string) {
	for _, p := range []struct {
		n    int64
		says string
	}{{s.Loaded, "in the warehouse"}, {s.Underway, "on the way"}, {s.Failed, "failed"}, {s.Replaced, "replaced by a later upload"}, {s.Ended, "ended without being loaded"}} {
		if p.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", p.n, p.says))
		}
	}
	return out
}

// WriteText writes the summary as plain text, for a feed and for mail: what came, what
// failed and what to do about it, what is missing or late.
func (s Summary) WriteText(w io.Writer) error {
	p := screen.NewWriter(w)
	p.Line("%s: %s to %s", s.Centre, day(s.From), day(s.Until.Add(-Day)))
	p.Line("%s", s.Title())
	if parts := s.Parts(); len(parts) > 0 {
		p.Line("As of now %s.", strings.Join(parts, ", "))
	}
	for _, group := range []struct {
		move exception.Move
		says string
	}{{exception.Centre, "What to correct"}, {exception.Us, "What waits for the data centre"}, {exception.Nobody, "What nobody has to act on"}} {
		first := true
		for _, t := range s.Troubles {
			if t.Move != group.move {
				continue
			}
			if first {
				p.Line("\n%s", group.says)
				first = false
			}
			p.Line("- %s (%s): %s", t.Title, t.Exception, plural(t.Files, "file", "files"))
			p.Line("  %s", t.Do)
		}
	}
	if len(s.Servers) > 0 {
		p.Line("\nYour servers")
	}
	for _, x := range s.Servers {
		last := ""
		if x.Last != nil {
			last = " Last new file: " + day(*x.Last) + "."
		}
		p.Line("- %s: %s%s", x.Name, x.Says, last)
	}
	return p.Flush()
}

// WriteText writes what the centre sees first: its last seven days, and what is wrong now.
func (h Home) WriteText(w io.Writer) error {
	if err := h.Week.WriteText(w); err != nil {
		return err
	}
	p := screen.NewWriter(w)
	if len(h.Troubles) > 0 {
		p.Line("\nWrong now")
	}
	for _, t := range h.Troubles {
		p.Line("- %s (%s): %s", t.Title, t.Exception, plural(t.Files, "file", "files"))
		p.Line("  %s", t.Do)
		if e := t.Example; e != nil {
			place := e.Action + "/" + e.File
			if e.Document != "" {
				place += "/" + e.Document
			}
			if e.Line != nil {
				place += fmt.Sprintf(", line %d", *e.Line)
			}
			p.Line("  such as %s: %s", place, e.Says)
		}
	}
	if len(h.Nameless) > 0 {
		p.Line("\nFiles whose names tell no centre")
	}
	for _, f := range h.Nameless {
		p.Line("- %s/%s: %s", f.Action, f.File, cmp.Or(f.Says, f.Title, f.Stands))
	}
	return p.Flush()
}

// WriteText writes the story of a file for people.
func (f FileTold) WriteText(w io.Writer) error {
	p := screen.NewWriter(w)
	f.Row.write(p, f.Size, f.SHA256, f.FirstSeen)
	write(p, f.Problems, int64(f.Left))
	for i, d := range f.Documents {
		if i == 0 {
			p.Line("\nDocuments")
		}
		p.Line("- %s: %s", d.Document, d.Stands)
	}
	if f.More > 0 {
		p.Line("  and %d more", f.More)
	}
	for i, v := range f.Versions {
		if i == 0 {
			p.Line("\nVersions")
		}
		current := ""
		if v.Current {
			current = ", the current one"
		}
		p.Line("- came %s, sha256 %s%s", v.Received.UTC().Format(time.RFC3339), v.SHA256, current)
	}
	for i, e := range f.Events {
		if i == 0 {
			p.Line("\nWhat went wrong on the way")
		}
		p.Line("- %s: %s", e.At.UTC().Format(time.RFC3339), cmp.Or(e.Says, e.Title))
	}
	return p.Flush()
}

// WriteText writes what is told of a document for people.
func (d DocumentTold) WriteText(w io.Writer) error {
	p := screen.NewWriter(w)
	d.Row.write(p, d.Size, d.SHA256, d.FirstSeen)
	write(p, d.Problems, int64(d.Left))
	return p.Flush()
}

func (r Row) write(p *screen.Writer, size *int64, sha256 string, seen time.Time) {
	name := r.Action + "/" + r.File
	if r.Document != "" {
		name += "/" + r.Document
	}
	p.Line("%s: %s", name, r.Stands)
	if size != nil {
		p.Line("  %d bytes, sha256 %s", *size, cmp.Or(sha256, "not known"))
	}
	p.Line("  seen first %s", seen.UTC().Format(time.RFC3339))
}

// write writes what is wrong, and how much more there is.
func write(p *screen.Writer, all []Problem, left int64) {
	for i, x := range all {
		if i == 0 {
			p.Line("\nWhat is wrong")
		}
		place := x.Document
		if x.Line != nil {
			place = strings.TrimPrefix(place+fmt.Sprintf(", line %d", *x.Line), ", ")
		}
		if place != "" {
			place += ": "
		}
		p.Line("- %s%s (%s)", place, x.Title, x.Exception)
		if x.Says != "" {
			p.Line("  it says: %s", x.Says)
		}
		p.Line("  %s", x.Do)
	}
	if left > 0 {
		p.Line("  and %d more", left)
	}
}

// RowHeader names the columns of a list of files or documents.
func RowHeader() []string {
	return []string{"action", "file", "document", "stands", "exception", "says", "last"}
}

// Cells is the row as a table has it.
func (r Row) Cells() []string {
	last := ""
	if r.Last != nil {
		last = r.Last.UTC().Format(time.RFC3339)
	}
	return []string{r.Action, r.File, r.Document, r.Stands, r.Exception, cmp.Or(r.Says, r.Title), last}
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence is the first sentence of a text.
func sentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}
