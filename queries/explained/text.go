package explained

import (
	"fmt"
	"io"
	"time"

	"tributary/internal/pg"
	"tributary/internal/screen"
)

// WriteText writes the document for people: where it stands, and each of its errors with
// the lines around it, of which that of the error begins with >.
func (d Document) WriteText(w io.Writer) error {
	x, p := d.Document, screen.NewWriter(w)
	p.Line("%s/%s", x.Action, x.File)
	p.Line("  %s", x.Document.Document)
	if x.AsOf != nil {
		p.Line("  as of %s", x.AsOf.UTC().Format(time.RFC3339Nano))
	}
	p.Line("  stands at %s, %s", x.Phase, x.Status)
	if x.QC != nil {
		p.Line("  quality control: %s by %s", x.QC.Decision, pg.Value(x.QC.By))
	}
	if x.Size != nil {
		p.Line("  %d bytes, sha256 %s", *x.Size, pg.Value(x.SHA256))
	}
	if x.Position != nil {
		p.Line("  position %d, %d rows in the warehouse", *x.Position, pg.Value(x.Rows))
	}
	if x.ErrorsTotal > 0 {
		p.Line("\n%d errors", x.ErrorsTotal)
	}
	for _, e := range d.Errors {
		e.write(p)
	}
	if more := x.ErrorsTotal - len(d.Errors); more > 0 {
		p.Line("\n%d more are only counted", more)
	}
	return p.Flush()
}

func (e Error) write(p *screen.Writer) {
	place := ""
	if e.Line != nil {
		place = fmt.Sprintf(", line %d", *e.Line)
	}
	if e.Column != nil {
		place += fmt.Sprintf(", column %d", *e.Column)
	}
	p.Line("\n%s%s", e.Exception, place)
	for _, l := range e.Lines {
		mark, text := " ", l.Before+l.At+l.After
		if l.Hit {
			mark = ">"
		}
		if l.Begun {
			text = "…" + text
		}
		if l.Goes {
			text += "…"
		}
		p.Line("  %s %6d  %s", mark, l.Number, text)
	}
	for _, part := range []struct{ says, text string }{{"lines", e.Unseen}, {"says", pg.Value(e.Message)}, {"means", e.Means}, {"rule", e.Rule}, {"do", e.Do}} {
		if part.text != "" {
			p.Line("  %-6s %s", part.says, part.text)
		}
	}
}
