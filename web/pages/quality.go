package pages

import (
	"context"
	"net/http"
	"strconv"

	"tributary/queries/report"
	"tributary/recovery/quality"
	"tributary/schemas"
	"tributary/web/filter"
	"tributary/web/order"
)

// qualityPage is the list of documents by what was decided about them.
type qualityPage struct {
	listing

	Rows   []qualityRow
	Orders bool // something may be decided about one of them
}

type qualityRow struct {
	subject

	QC   *decided
	Menu rowMenu
}

// decided is what a person decided about a document, for people.
type decided struct {
	Status, Decision, By, Reason string
	At, Full, DateTime           string
}

func (s *Site) decided(q *report.Quality) *decided {
	if q == nil {
		return nil
	}
	return &decided{Status: string(schemas.QualityStatus(q.Decision)), Decision: q.Decision, By: text(q.By), Reason: text(q.Reason),
		At: s.recent(q.At), Full: s.full(q.At), DateTime: q.At.UTC().Format("2006-01-02T15:04:05Z")}
}

// qualityLead says how a document stands that somebody has decided about.
func qualityLead(q *report.Quality) lead {
	says := map[string]string{
		schemas.QualityAccepted:   "It is in the warehouse, and was accepted in quality control.",
		schemas.QualityQuestioned: "It is in the warehouse, and something about it has to be answered.",
		schemas.QualityHeld:       "It is in the warehouse, and its data are not to be used.",
	}
	return lead{string(schemas.QualityStatus(q.Decision)), says[q.Decision], "#quality"}
}

// qualityOffers are the decisions that who asks may take about a document.
func (s *Site) qualityOffers(ctx context.Context, x report.Document) []offer {
	if x.SHA256 == nil {
		return nil
	}
	out := s.offers(ctx, order.Documents, order.DocumentSubject(x.Action, x.File, *x.SHA256, x.Document), x.Decidable())
	for i := range out {
		if x.Decidable() == "" {
			out[i].Not = quality.Undecidable(x)
		}
	}
	return out
}

func (s *Site) quality(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	query.Del("source") // documents have none
	if query.Get("qc") == "" {
		query.Set("qc", report.Awaiting)
	}
	if query.Get("sort") == "" {
		query.Set("sort", report.ByName) // the one order in which what is decided stays where it was
	}
	r.URL.RawQuery = query.Encode()
	l, f, err := s.list(ctx, r, "/quality")
	if err != nil {
		return page{}, err
	}
	documents, err := report.DocumentPage(ctx, s.Tracker, f)
	if err != nil {
		return page{}, err
	}
	stands, err := report.QualityStands(ctx, s.Tracker, f.Centre)
	if err != nil {
		return page{}, err
	}
	l.Choices.Sources, l.Choices.Exceptions = nil, nil
	of := facet{Name: "decision"}
	for _, c := range stands {
		of.Options = append(of.Options, option{Name: c.Decision, Status: c.Status, Count: count(c.Documents), To: s.with(l.Path, query, "qc", c.Decision), Chosen: c.Decision == f.QC})
		if c.Decision == f.QC {
			l.Heading = plural(int(c.Documents), "document", "documents") + " " + f.QC
		}
	}
	s.facets(&l, query, nil)
	l.Facets = append([]facet{of}, l.Facets[2:]...) // phase and status follow from the decision
	s.end(&l, query, len(documents.Rows), documents.Next)
	if len(documents.Rows) == 0 && l.Start == "" {
		l.Empty = "There is no document of which this is so."
	}
	d := qualityPage{listing: l}
	for i, x := range documents.Rows {
		row := qualityRow{subject: subject{Phase: x.Phase, Status: x.Status, Action: x.Action, Name: x.File, To: s.fileTo(x.Action, x.File), Document: x.Document,
			DocumentTo: s.fileTo(x.Action, x.File, "documents", x.Document)}, QC: s.decided(x.QC), Menu: rowMenu{"m-" + strconv.Itoa(i), x.Document, possible(s.qualityOffers(ctx, x))}}
		s.named(&row.subject, "/quality", text(x.Centre), "", "", x.Last)
		d.Orders = d.Orders || len(row.Menu.Offers) > 0
		d.Rows = append(d.Rows, row)
	}
	return page{Title: "Quality control", At: "/quality", Template: "quality", Data: d, Command: shown(filter.Command("documents", query, f))}, nil
}
