package own

import (
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
