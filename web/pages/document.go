package pages

import (
	"context"
	"net/http"

	"tributary/queries/report"
)

// documentPage is one document with all its errors.
type documentPage struct {
	Row      documentRow
	FileTo   string
	Lead     lead
	Errors   []errorCard
	Left     int // errors that are only counted
	Size     string
	Marks    []step
	Position string
	Held     *held // in the warehouse
	QC       *decided
	Original string // where its bytes are handed out; empty: they are not, or not to who asks
}

func (s *Site) document(ctx context.Context, r *http.Request) (page, error) {
	action, file, entry := r.PathValue("action"), r.PathValue("name"), r.PathValue("entry")
	if err := (report.Filter{Name: file, Contains: action, Source: entry}).Check(); err != nil {
		return page{}, report.ErrNotFound
	}
	x, meanings, err := report.DocumentOf(ctx, s.Tracker, action, file, entry)
	if err != nil {
		return page{}, err
	}
	d := documentPage{Row: s.documentRow(x), FileTo: s.fileTo(action, file), Left: x.ErrorsTotal - len(x.Errors), Size: bytesOf(x.Size), Position: number(x.Position)}
	for _, e := range x.Errors {
		d.Errors = append(d.Errors, newCard(e, meanings, x.Phase, "", ""))
	}
	around := s.excerpts()
	around.add(ctx, x, d.Errors)
	if err := s.moves(ctx, d.Errors, text(x.Centre)); err != nil {
		return page{}, err
	}
	d.Held = s.heldOfDocument(ctx, x)
	if s.mayHave(r) {
		d.Original = s.fileTo(action, file, "original", entry)
	}
	d.Marks = strip(report.Told{Stands: []report.Count{{Phase: x.Phase, Status: x.Status, Count: 1}}})[4:]
	for i := range d.Marks {
		d.Marks[i].Says, d.Marks[i].Here = "", d.Marks[i].Phase == x.Phase
	}
	switch {
	case x.QC != nil:
		d.Lead = qualityLead(x.QC)
	case x.Status == "failed":
		d.Lead = lead{"failed", "It failed at " + x.Phase + ", with " + plural(x.ErrorsTotal, "error", "errors") + ".", "#errors"}
	case x.Status == "cancelled":
		d.Lead = lead{"cancelled", "It was cancelled at " + x.Phase + ".", ""}
	case x.Decidable() != "":
		d.Lead = lead{"done", "It is in the warehouse.", ""}
	default:
		d.Lead = lead{"running", "It is on the way: " + x.Phase + ", " + x.Status + ".", ""}
	}
	d.QC = s.decided(x.QC)
	return page{Title: shown(entry), At: "/documents", Template: "document", Data: d, Command: shown("tributary show " + action + "/" + file), Offers: s.qualityOffers(ctx, x.Document)}, nil
}
