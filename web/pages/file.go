package pages

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"tributary/queries/explained"
	"tributary/queries/original"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/exception"
	"tributary/web/order"
)

// filePage is the story of one file.
type filePage struct {
	Told      report.Told
	Row       subject // where it stands, and what it leads to
	Lead      lead
	Strip     []step
	Errors    []errorCard
	ErrorsSay string
	Documents []documentRow
	Story     []version
	All       bool // all events, not those of versions
	ToldTo    string
	AllTo     string
	More      string // all documents of the file
	Hostings  []hostingRow
	Session   string // its number
	SessionTo string // the files of it
	Held      *held  // in the warehouse
	Why       string // where it is answered why it stands so; empty: nowhere here
	Original  string // where its bytes are handed out; empty: they are not, or not to who asks
}

// hostingRow is a source that shows or showed the file.
type hostingRow struct {
	report.Hosting

	To, Listed string // Listed is its size there
}

// maxCards is how many errors a file's page has; the documents' pages have the others.
const maxCards = 20

func (s *Site) file(ctx context.Context, r *http.Request) (page, error) {
	action, name := r.PathValue("action"), r.PathValue("name")
	if err := (report.Filter{Name: name, Contains: action}).Check(); err != nil {
		return page{}, report.ErrNotFound
	}
	t, err := report.Tell(ctx, s.Tracker, action, name)
	if err != nil {
		return page{}, err
	}
	to := s.fileTo(action, name)
	d := filePage{Told: t, Row: subject{Phase: t.Phase, Status: t.Status, Action: action, Name: name, To: to, Message: text(t.Message)}, Lead: fileLead(t), Strip: strip(t), Story: s.story(t),
		All: r.URL.Query().Get("events") == "all", ToldTo: to, AllTo: and(to, "events", "all"), More: s.to("/documents", "q", name, "action", action)}
	s.named(&d.Row, "/files", text(t.Centre), text(t.Source), text(t.Exception), t.Last)
	if t.Size != nil {
		d.Row.Size = size(*t.Size)
	}
	for _, h := range t.Hostings {
		d.Hostings = append(d.Hostings, hostingRow{h, s.sourceAt(h.Source), number(h.Size)})
	}
	if t.Session != nil {
		d.Session, d.SessionTo = count(*t.Session), s.to("/sessions/"+strconv.FormatInt(*t.Session, 10))
	}
	d.Held = s.heldOf(ctx, action, name)
	if s.Why != nil {
		d.Why = s.to("/why", "path", action+"/"+name)
	}
	if t.SHA256 != nil && s.mayHave(r) {
		d.Original = to + "/original"
	}
	total, around := 0, s.excerpts()
	for _, x := range t.Documents {
		row := s.documentRow(x)
		d.Documents = append(d.Documents, row)
		total += x.ErrorsTotal
		from := len(d.Errors)
		for _, e := range x.Errors[:min(len(x.Errors), maxCards-from)] {
			d.Errors = append(d.Errors, newCard(e, t.Meanings, x.Phase, x.Document.Document, row.DocumentTo))
		}
		around.add(ctx, x, d.Errors[from:])
	}
	switch {
	case total > 0:
		d.ErrorsSay = plural(total, "error", "errors")
		if left := total - len(d.Errors); left > 0 {
			d.ErrorsSay += ", of which the first are shown; each document's page has all of its own"
		}
	case t.Exception != nil:
		d.Errors = []errorCard{newCard(report.Error{Exception: *t.Exception, Message: t.Message}, t.Meanings, t.Phase, "", "")}
	}
	if err := s.moves(ctx, d.Errors, text(t.Centre)); err != nil {
		return page{}, err
	}
	return page{Title: shown(name), At: "/files", Template: "file", Data: d, Command: shown("tributary show " + action + "/" + name), Offers: append(s.offers(ctx, order.Files, action+"/"+name, ""), s.replayOffer(ctx, "Replay", "action = "+quoted(action)+" AND file = "+quoted(name))...)}, nil
}

// fileLead says how the file stands.
func fileLead(t report.Told) lead {
	failed, through, held := int64(0), int64(0), int64(0)
	all := int64(0)
	for _, c := range t.Stands {
		all += c.Count
		switch {
		case c.Phase == string(schemas.QC):
			through += c.Count
			if c.Status == string(schemas.Cancelled) {
				held += c.Count
			}
		case c.Status == string(schemas.Failed):
			failed += c.Count
		case c.Status == string(schemas.Done) && schemas.Phase(c.Phase).ID() >= schemas.Overview.ID():
			through += c.Count
		}
	}
	documents := plural(int(all), "document", "documents")
	switch {
	case failed > 0 && through == all-failed:
		return lead{"failed", fmt.Sprintf("%s of %s failed; the others are in the warehouse.", count(failed), documents), "#errors"}
	case failed > 0:
		return lead{"failed", fmt.Sprintf("%s of %s failed.", count(failed), documents), "#errors"}
	case t.Status == string(schemas.Failed):
		return lead{"failed", "It failed at " + t.Phase + ": " + text(t.Exception) + ".", "#errors"}
	case t.Status == string(schemas.Cancelled):
		return lead{"cancelled", "It was cancelled at " + t.Phase + ".", ""}
	case t.Waits != "":
		return lead{"running", "It is on the way: " + t.Waits + ".", ""}
	case held > 0:
		return lead{"cancelled", fmt.Sprintf("It is in the warehouse, and %s of %s held in quality control.", count(held), documents), "#documents"}
	case all > 0:
		return lead{"done", "It is in the warehouse, with " + documents + ".", "#documents"}
	}
	return lead{t.Status, "It has come to its end.", ""}
}

// step is a phase of a file, and how it stands there.
type step struct {
	Phase, Status, Says string
	Here                bool
}

// strip are the phases: up to unzip the file's own, then those of its documents.
func strip(t report.Told) []step {
	var out []step
	at := schemas.Phase(t.Phase).ID()
	for _, p := range schemas.Phases() {
		x := step{Phase: string(p), Status: string(schemas.Pending), Here: t.Phase == string(p)}
		if p.ID() <= schemas.Unzip.ID() {
			switch {
			case p.ID() == at:
				x.Status = t.Status
			case p.ID() < at:
				x.Status = string(schemas.Done)
			}
		} else {
			x.Status, x.Says = documentsAt(t.Stands, p)
		}
		if p == schemas.QC && x.Says == "" {
			x.Says = "by people"
		}
		out = append(out, x)
	}
	return out
}

// documentsAt says how documents stand in a phase: of those that came as far, how many
// are through.
func documentsAt(stands []report.Count, p schemas.Phase) (status, says string) {
	var came, through, failed, cancelled int64
	for _, c := range stands {
		switch id := schemas.Phase(c.Phase).ID(); {
		case id > p.ID(), id == p.ID() && c.Status == string(schemas.Done):
			came, through = came+c.Count, through+c.Count
		case id == p.ID():
			came += c.Count
			if c.Status == string(schemas.Failed) {
				failed += c.Count
			} else if c.Status == string(schemas.Cancelled) {
				cancelled += c.Count
			}
		}
	}
	switch {
	case failed > 0:
		status = "failed"
	case came == 0:
		return "pending", ""
	case through == came:
		status = "done"
	case cancelled > 0:
		status = "cancelled"
	default:
		status = "running"
	}
	return status, count(through) + " of " + count(came)
}

// documentRow is a document of a file, with how it stands in phases 5 to 11.
type documentRow struct {
	report.DocumentFacts

	DocumentTo string
	Loaded     string // rows in the warehouse
	Cells      []mark
}

// mark is how a document stands in a phase: its shape, and where that is.
type mark struct {
	Status string // empty: it did not come as far
	X, Mid string
}

func (s *Site) documentRow(x report.DocumentFacts) documentRow {
	d := documentRow{DocumentFacts: x, DocumentTo: s.fileTo(x.Action, x.File, "documents", x.Document.Document), Loaded: number(x.Rows)}
	at := schemas.Phase(x.Phase).ID()
	for p := schemas.XMLName.ID(); p <= schemas.QC.ID(); p++ {
		left := 0.5 + 13.5*float64(p-schemas.XMLName.ID())
		m := mark{X: fmt.Sprintf("%.1f", left), Mid: fmt.Sprintf("%.1f", left+5)}
		switch {
		case p < at:
			m.Status = string(schemas.Done)
		case p == at:
			m.Status = x.Status
		}
		d.Cells = append(d.Cells, m)
	}
	return d
}

// errorCard is one error: where, what it says, what that means, and what to do.
type errorCard struct {
	Exception, Place, Document, DocumentTo string
	Says, Means, Rule, Do                  string          // Rule, of a schema, takes the place of what its exception means
	Lines                                  []original.Line // of the document, around the error
	Unseen                                 string          // why there are none; empty: none are wanted, or another card says it
	whose                                  exception.Move
	Move, MoveTo                           string // whose turn that is, in words
	Often, OftenTo                         string // how often files failed with it; empty: another card says it, or nobody knows
}

// newCard explains an error that arose in a phase.
func newCard(e report.Error, meanings map[string]string, phase, document, to string) errorCard {
	x := explained.Explain(e, phase, meanings)
	c := errorCard{Exception: e.Exception, whose: x.Move, Document: document, DocumentTo: to, Says: text(e.Message), Means: x.Means, Rule: x.Rule, Do: x.Do}
	if e.Line != nil {
		c.Place = fmt.Sprintf("line %d", *e.Line)
		if e.Column != nil {
			c.Place += fmt.Sprintf(", column %d", *e.Column)
		}
	}
	return c
}
