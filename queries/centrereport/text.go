package centrereport

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/queries/report"
)

// WriteText writes the report as plain text of UTF-8. Names and messages that
// others chose can't move a terminal's cursor or hide what they say.
func (r *Report) WriteText(w io.Writer) error {
	p := writer{screen.NewWriter(w)}
	p.Line("%s", r.title())
	p.Line("%s", r.subtitle())
	p.summary(r)
	p.problems(r)
	p.pending(r)
	p.loaded(r)
	p.hostings(r)
	p.sources(r)
	p.meanings(r)
	p.heading("The phases, in order")
	for _, m := range r.Phases {
		p.Line("%s: %s", m.Name, m.Meaning)
	}
	return p.Flush()
}

// title names the centre.
func (r *Report) title() string {
	if r.FullName != "" {
		return fmt.Sprintf("Data report for %s (%s)", r.Centre, r.FullName)
	}
	return "Data report for " + r.Centre
}

// subtitle says when the report was made and what is in it.
func (r *Report) subtitle() string {
	text := "Made on " + r.Made.UTC().Format("2006-01-02 at 15:04 UTC")
	if r.Since != nil {
		return text + ", about files for which something happened since " + day(*r.Since)
	}
	return text + ", about all files"
}

// writer writes lines for people.
type writer struct{ *screen.Writer }

func (p writer) heading(text string) {
	p.Line("\n%s\n%s", text, strings.Repeat("-", len(text)))
}

func (p writer) table(header []string, rows [][]string) {
	if p.Err != nil || len(rows) == 0 {
		return
	}
	out, err := report.NewOutput(p.Writer, report.Table, header...)
	for i := 0; err == nil && i < len(rows); i++ {
		err = out.Row(nil, rows[i]...)
	}
	if err == nil {
		err = out.Close()
	}
	p.Err = err
}

func (p writer) left(n int64, what string) {
	if n > 0 {
		p.Line("… and %d more %s that are not listed here", n, what)
	}
}

func (p writer) summary(r *Report) {
	p.heading("Summary")
	for _, c := range []struct {
		what   string
		counts []report.Count
	}{{"files", r.Files}, {"documents", r.Documents}} {
		p.Line("%d %s", Total(c.counts), c.what)
		for _, n := range c.counts {
			p.Line("  %d %s", n.Count, stands(n.Phase, n.Status))
		}
	}
	if len(r.Records) > 0 {
		p.Line("records that hold now")
		for _, n := range r.Records {
			p.Line("  %d %s", n.Count, n.Table)
		}
	}
	if len(r.Findings) > 0 {
		p.Line("open findings of data checks")
		for _, n := range r.Findings {
			p.Line("  %d %s (%s)", n.Count, n.Test, n.Level)
		}
	}
}

// stands says where a file or a document stands.
func stands(phase, status string) string { return "(" + phase + ", " + status + ")" }

func (p writer) problems(r *Report) {
	p.heading("What is wrong")
	if len(r.Problems) == 0 {
		p.Line("Nothing that is known.")
	}
	for _, f := range r.Problems {
		p.Line("\n%s/%s %s%s", f.Action, f.File, stands(f.Phase, f.Status), on(f.Last))
		if f.Exception != "" {
			p.Line("  %s%s", f.Exception, after(": ", f.Message))
		}
		for _, d := range f.Documents {
			p.Line("  %s %s", d.Document, d.where())
			for _, e := range d.Errors {
				p.Line("    %s%s %s: %s%s", e.place(" "), e.Level, e.Name, e.Message, after(" — ", e.Record))
			}
			if d.Left > 0 {
				p.Line("    … and %d more", d.Left)
			}
		}
		if f.DocumentsLeft > 0 {
			p.Line("  … and %d more documents", f.DocumentsLeft)
		}
	}
	p.left(r.ProblemsLeft, "files")
}

func (d Document) where() string {
	if d.Earlier {
		return "(of an earlier version of the file, which is still what is loaded)"
	}
	return stands(d.Phase, d.Status)
}

// place is the error's line and column, as compilers write it, followed by
// what is given; empty if they are not known.
func (e Error) place(then string) string {
	switch {
	case e.Line <= 0:
		return ""
	case e.Column <= 0:
		return fmt.Sprintf("line %d%s", e.Line, then)
	}
	return fmt.Sprintf("line %d, column %d%s", e.Line, e.Column, then)
}

func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func on(t time.Time) string {
	if t.Year() <= 1 {
		return ""
	}
	return " on " + day(t)
}

func (p writer) pending(r *Report) {
	p.heading("What is still pending")
	if len(r.Pending) == 0 {
		p.Line("Nothing.")
	}
	for _, f := range r.Pending {
		p.Line("%s/%s %s since %s: %s", f.Action, f.File, stands(f.Phase, f.Status), day(f.Since), f.Reason)
	}
	p.left(r.PendingLeft, "files")
}

func (p writer) loaded(r *Report) {
	p.heading("What was loaded")
	if len(r.Loaded) == 0 {
		p.Line("No file has been loaded whole.")
	}
	rows := make([][]string, len(r.Loaded))
	for i, f := range r.Loaded {
		rows[i] = []string{f.Action + "/" + f.File, fmt.Sprint(f.Documents), fmt.Sprint(f.Rows), strings.TrimPrefix(on(f.Last), " on ")}
	}
	p.table([]string{"file", "documents", "rows", "when"}, rows)
	p.left(r.LoadedLeft, "files")
}

func (p writer) hostings(r *Report) {
	if len(r.Hostings) == 0 {
		return
	}
	p.heading("Where your files lie")
	for _, h := range r.Hostings {
		p.Line("%s", h.text())
	}
}

// text says what a source shows of the centre's files.
func (h Hosting) text() string {
	by := "run by " + h.RunBy
	if h.Own {
		by = "your own"
	} else if h.RunBy == "" {
		by = "run by others"
	}
	text := fmt.Sprintf("%s (%s): shows %d of your files; the bytes of %d were fetched from it", h.Source, by, h.Shown, h.Fetched)
	if h.Refused > 0 {
		text += fmt.Sprintf("; %d that it shows were refused (centre_not_hosted_here), since you are not known to let it", h.Refused)
	}
	return text
}

func (p writer) sources(r *Report) {
	if len(r.Sources) == 0 {
		return
	}
	p.heading("Your servers")
	for _, s := range r.Sources {
		p.Line("%s", describe(s))
	}
}

// describe says how a source does.
func describe(s report.Source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s %s): %s, shows %d files", s.Source, pg.Value(s.Hostname), pg.Value(s.BasePath), pg.Value(s.State), s.Files)
	if s.LastPoll != nil {
		fmt.Fprintf(&b, "; last listed %s: %s", s.LastPoll.UTC().Format("2006-01-02 15:04 UTC"), pg.Value(s.Poll))
	}
	if s.Exception != nil {
		b.WriteString(" " + *s.Exception + after(": ", pg.Value(s.Message)))
	}
	return b.String()
}

func (p writer) meanings(r *Report) {
	if len(r.Meanings) == 0 {
		return
	}
	p.heading("What the names mean, and what to do")
	for _, m := range r.Meanings {
		p.Line("%s", m.Name)
		if m.Meaning != "" {
			p.Line("  %s", m.Meaning)
		}
		if m.Remedy != "" {
			p.Line("  What to do: %s", m.Remedy)
		}
	}
}
