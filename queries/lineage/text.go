package lineage

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tributary/internal/screen"
)

// writer writes lines for people.
type writer struct{ *screen.Writer }

// WriteText writes the lineage for people.
func (l *Lineage) WriteText(w io.Writer) error {
	p := writer{screen.NewWriter(w)}
	if l.Document == nil {
		p.Line("%s  %s", l.Table, keyOf(l.Key))
		p.Line("  claim        %s", l.ID)
	}
	if r := l.Row; r != nil {
		line := fmt.Sprintf("line %d", r.Line)
		if !r.Exact {
			line = fmt.Sprintf("in the record at line %d", r.Line)
		}
		p.Line("\nrow %s of %s, %s", place(r.Position, r.Ordinal), r.Table, line)
		for _, v := range r.Values {
			if v.Value != nil {
				p.Line("  %-22s %s", v.Column, *v.Value)
			}
		}
	}
	if l.Document != nil {
		p.Line("")
		p.document(l.Document, "  ")
		if l.Document.Why != "" {
			p.Line("  withdrawn: %s", l.Document.Why)
		}
		if l.Verification != nil {
			p.verification(l.Verification)
		}
	}
	for i, c := range l.Claims {
		if i == 0 {
			p.Line("\n%d claims, the greatest first", int64(len(l.Claims))+l.Left)
		}
		p.claim(c)
	}
	if l.Left > 0 {
		p.Line("\n… and %d lesser claims; --all lists them", l.Left)
	}
	return p.Flush()
}

func keyOf(key []Part) string {
	words := make([]string, 0, len(key))
	for _, k := range key {
		if k.Value != nil {
			words = append(words, k.Column+"="+*k.Value)
		}
	}
	return strings.Join(words, "  ")
}

func (p writer) claim(c Claim) {
	p.Line("\n%s  %s", strings.ToUpper(c.State), c.Place())
	p.Line("  why          %s", c.Why)
	if c.Deletes {
		p.Line("  says         that the key is gone")
	}
	p.document(&c.Document, "  ")
	p.Line("  place        line %d, column %d, bytes %d to %d", c.Line, c.Column, c.ByteFrom, c.ByteTo)
	content := "its own rows"
	if c.ContentPosition != c.Position || c.ContentOrdinal != c.Ordinal {
		content = "equal to that of " + place(c.ContentPosition, c.ContentOrdinal) + ", where its rows are"
	}
	p.Line("  content      %s (fingerprint %s)", content, c.Fingerprint)
	if v := c.Verification; v != nil {
		p.verification(v)
	}
}

func (p writer) verification(v *Verification) {
	switch {
	case v.OK && v.ElementSHA256 == "":
		p.Line("  verified     the document is what was loaded")
	case v.OK:
		p.Line("  verified     the document, the element's bytes and the content are what was loaded")
		p.Line("  element      sha256 %s", v.ElementSHA256)
	default:
		p.Line("  DIFFERS")
		for _, d := range v.Differences {
			p.Line("    %s", d)
		}
	}
	if v.Excerpt != "" {
		for i, line := range strings.Split(v.Excerpt, "\n") {
			if i == 20 {
				p.Line("    …")
				break
			}
			p.Line("    | %s", strings.TrimRight(line, "\r"))
		}
	}
}

func (p writer) document(d *Document, indent string) {
	p.Line(indent+"document     %s (%s, %d bytes, sha256 %s)", d.Entry, d.Kind, d.Size, d.SHA256)
	p.Line(indent+"file         %s/%s", d.Action, d.File)
	p.Line(indent+"version      %s", d.Version)
	from := d.Source
	if d.Host != nil {
		from += " (" + *d.Host + ")"
	}
	p.Line(indent+"download     attempt %d from %s%s%s", d.Attempt, from, at(", requested ", d.Requested), at(", received ", d.Received))
	session := d.Session
	if d.SessionNumber != nil {
		session = fmt.Sprintf("%d (%s)", *d.SessionNumber, d.Session)
	}
	run := ""
	if d.Run > 0 {
		run = fmt.Sprintf(", replay %d", d.Run)
	}
	p.Line(indent+"session      %s, batch %d of %s, position %d, profile %s%s%s", session, d.Batch, d.Centre, d.Position, d.Profile, run, at(", last news ", d.Last))
}

func at(before string, t *time.Time) string {
	if t == nil {
		return ""
	}
	return before + t.UTC().Format("2006-01-02 15:04:05Z")
}

// WriteText writes what a document brought, for people.
func (b *Brought) WriteText(w io.Writer) error {
	p := writer{screen.NewWriter(w)}
	d := &b.Document
	state := d.State
	switch {
	case d.State == "failed":
		state = "failed at " + d.Phase + ": " + d.Exception
	case d.Withdrawn:
		state = "withdrawn: " + d.Why
	}
	p.Line("%s  %s", d.Entry, state)
	p.document(d, "  ")
	for _, c := range b.Records {
		p.Line("  %-12s %d records: %d current, %d superseded, %d withdrawn, %d deletions", c.Table, c.Records, c.Current, c.Superseded, c.Withdrawn, c.Deletions)
	}
	for _, k := range b.Keys {
		p.Line("    %-10s %s %s  (%s, line %d)", k.State, k.Table, keyOf(k.Key), place(d.Position, k.Ordinal), k.Line)
	}
	if b.KeysLeft > 0 {
		p.Line("    … and %d more; --all lists them", b.KeysLeft)
	}
	return p.Flush()
}

// WriteText writes what an unload would do, for people.
func (r *Retraction) WriteText(w io.Writer) error {
	p := writer{screen.NewWriter(w)}
	p.Line("version %s of %s/%s", r.Version, r.Action, r.File)
	if len(r.Documents) == 0 {
		p.Line("  has nothing in the warehouse that counts: nothing would change but that it can't come back")
	}
	for _, d := range r.Documents {
		p.Line("  would be retracted: %s", d)
	}
	for _, d := range r.Restored {
		p.Line("  would count again, of an earlier version: %s", d)
	}
	for _, t := range r.Tables {
		p.Line("  %s: %d records retracted, of which %d hold now; %d records of other documents would hold again, %d would be gone", t.Table, t.Records, t.Current, t.Again, t.Gone)
	}
	return p.Flush()
}
