package pages

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/schemas"
)

// ownFile is the story of one file of a centre.
type ownFile struct {
	plainStatus

	Action, Name, File string
	FileTo             string // of a document
	Size, SHA256       string
	Rows               string // of a document
	Seen, Last         string
	Cards              []ownCard
	Left               int // errors that are not shown here
	Documents          []ownDocumentRow
	More               int64 // documents that are not
	Versions           []ownVersion
	Events             []ownEvent
	Servers            []string
}

// ownCard is one thing that is wrong, in plain words.
type ownCard struct {
	Title, Exception, Do string
	Where, To            string // a document, and which line
	Place, Says          string
	Files                string // how many have it
	FilesTo              string
}

type ownDocumentRow struct {
	plainStatus

	Name, To, Rows string
	Errors         int
}

type ownVersion struct {
	At, Size, SHA256 string
	Current          bool
}

// ownEvent is something that went wrong on the way.
type ownEvent struct{ At, DateTime, Title, Says string }

func (s *Site) ownFile(ctx context.Context, at ownAt, r *http.Request) (ownPage, error) {
	action, name := r.PathValue("action"), r.PathValue("name")
	t, err := at.Story(ctx, action, name)
	if err != nil {
		return ownPage{}, err
	}
	d := ownFile{plainStatus: standing(t.Phase, t.Status, t.Exception), Action: action, Name: name, Seen: s.full(t.FirstSeen), SHA256: text(t.SHA256), More: t.Left}
	if t.Size != nil {
		d.Size = size(*t.Size)
	}
	if t.Last != nil {
		d.Last = s.full(*t.Last)
	}
	total := 0
	for _, x := range t.Documents {
		to := at.fileTo(action, name, "documents", x.Document.Document)
		d.Documents = append(d.Documents, ownDocumentRow{ownStanding(x), x.Document.Document, to, number(x.Rows), x.ErrorsTotal})
		total += x.ErrorsTotal
		for _, e := range x.Errors {
			if len(d.Cards) < maxCards {
				d.Cards = append(d.Cards, newOwnCard(e, t.Meanings, x.Document.Document, to))
			}
		}
	}
	d.Left = total - len(d.Cards)
	if len(d.Cards) == 0 && t.Exception != nil {
		d.Cards, d.Left = []ownCard{newOwnCard(report.Error{Exception: *t.Exception, Message: t.Message}, t.Meanings, "", "")}, 0
	}
	for _, v := range t.Versions {
		d.Versions = append(d.Versions, ownVersion{s.full(v.Received), bytesOf(v.Size), v.SHA256, v.Current})
	}
	for _, a := range t.Tries {
		for _, l := range a.Log {
			title, _ := own.Words(l.Exception, t.Meanings[l.Exception], own.MoveOf(l.Exception))
			d.Events = append(d.Events, ownEvent{s.full(l.At), l.At.UTC().Format(time.RFC3339), title, text(l.Message)})
		}
	}
	for _, h := range t.Hostings {
		shown := "shows it"
		if text(h.State) == "gone" {
			shown = "showed it, and does no more"
		}
		d.Servers = append(d.Servers, h.Source+" "+shown)
	}
	return ownPage{Title: shown(name), Template: "file", Data: d}, nil
}

// ownStanding is how a document stands, its first error being its reason.
func ownStanding(x report.DocumentFacts) plainStatus {
	if len(x.Errors) > 0 {
		return standing(x.Phase, x.Status, &x.Errors[0].Exception)
	}
	return standing(x.Phase, x.Status, nil)
}

func newOwnCard(e report.Error, meanings map[string]string, document, to string) ownCard {
	c := ownCard{Exception: e.Exception, Where: document, To: to, Says: text(e.Message)}
	c.Title, c.Do = own.Words(e.Exception, meanings[e.Exception], own.MoveOf(e.Exception))
	if e.Line != nil {
		c.Place = fmt.Sprintf("line %d", *e.Line)
		if e.Column != nil {
			c.Place += fmt.Sprintf(", column %d", *e.Column)
		}
	}
	return c
}

func (s *Site) ownDocument(ctx context.Context, at ownAt, r *http.Request) (ownPage, error) {
	action, file, entry := r.PathValue("action"), r.PathValue("name"), r.PathValue("entry")
	if (report.Filter{Source: entry}).Check() != nil {
		return ownPage{}, report.ErrNotFound
	}
	x, meanings, err := at.Document(ctx, action, file, entry)
	if err != nil {
		return ownPage{}, err
	}
	d := ownFile{plainStatus: ownStanding(x), Action: action, Name: entry, File: file, FileTo: at.fileTo(action, file), Size: bytesOf(x.Size), SHA256: text(x.SHA256), Rows: number(x.Rows), Seen: s.full(x.FirstSeen)}
	if x.Last != nil {
		d.Last = s.full(*x.Last)
	}
	for _, e := range x.Errors {
		d.Cards = append(d.Cards, newOwnCard(e, meanings, "", ""))
	}
	if d.Left = x.ErrorsTotal - len(d.Cards); d.Left < 0 || x.Status != string(schemas.Failed) && len(d.Cards) == 0 {
		d.Left = 0
	}
	return ownPage{Title: shown(entry), Template: "file", Data: d}, nil
}
