package pages

import (
	"context"
	"net/http"

	"tributary/queries/report"
	"tributary/web/filter"
	"tributary/web/keep"
)

// documentsPage is the list of documents.
type documentsPage struct {
	listing

	Rows []subject
}

func (s *Site) documents(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	query.Del("source") // documents have none
	r.URL.RawQuery = query.Encode()
	l, f, err := s.list(ctx, r, "/documents")
	if err != nil {
		return page{}, err
	}
	f.Errors = 1
	documents, err := report.DocumentPage(ctx, s.Tracker, f)
	if err != nil {
		return page{}, err
	}
	l.Choices.Sources = nil
	s.facets(&l, query, nil)
	l.Sheet = s.sheetOf("/documents.csv", query)
	s.end(&l, query, len(documents.Rows), documents.Next)
	d := documentsPage{listing: l}
	for _, x := range documents.Rows {
		row := subject{Phase: x.Phase, Status: x.Status, Action: x.Action, Name: x.File, To: s.fileTo(x.Action, x.File), Document: x.Document,
			DocumentTo: s.fileTo(x.Action, x.File, "documents", x.Document), Errors: x.ErrorsTotal}
		exception := ""
		if len(x.Errors) > 0 {
			exception, row.Message = x.Errors[0].Exception, cut(text(x.Errors[0].Message))
		}
		s.named(&row, "/documents", text(x.Centre), "", exception, x.Last)
		d.Rows = append(d.Rows, row)
	}
	return page{Title: "Documents", At: "/documents", Template: "documents", Data: d, Command: shown(filter.Command("documents", query, f)), Keep: s.keep(keep.Documents, "", query.Encode())}, nil
}
