package pages

import (
	"context"
	"net/http"

	"tributary/queries/report"
	"tributary/web/filter"
	"tributary/web/keep"
)

// filesPage is the list of files.
type filesPage struct {
	listing

	Rows []subject
}

func (s *Site) files(ctx context.Context, r *http.Request) (page, error) {
	l, f, err := s.list(ctx, r, "/files")
	if err != nil {
		return page{}, err
	}
	files, err := report.FilePage(ctx, s.Tracker, f)
	if err != nil {
		return page{}, err
	}
	var counts []report.Count
	if onlyStands(l) {
		if counts, err = report.FileCounts(ctx, s.Tracker); err != nil {
			return page{}, err
		}
	}
	query := r.URL.Query()
	failed, err := report.FailedCounts(ctx, s.Tracker, f.Centre)
	if err != nil {
		return page{}, err
	}
	s.facets(&l, query, counts)
	s.exceptions(&l, query, failed)
	l.Sheet = s.sheetOf("/files.csv", query)
	s.end(&l, query, len(files.Rows), files.Next)
	d := filesPage{listing: l}
	for _, x := range files.Rows {
		row := subject{Phase: x.Phase, Status: x.Status, Action: x.Action, Name: x.File, To: s.fileTo(x.Action, x.File), Message: cut(text(x.Message))}
		if x.Size != nil {
			row.Size = size(*x.Size)
		}
		s.named(&row, "/files", text(x.Centre), text(x.Source), text(x.Exception), x.Last)
		d.Rows = append(d.Rows, row)
	}
	p := page{Title: "Files", At: "/files", Template: "files", Data: d, Command: shown(filter.Command("files", query, f)), Keep: s.keep(keep.Files, "", query.Encode())}
	if where, ok := filter.Condition(f); ok && len(l.Chips) > 0 {
		p.Offers = s.replayOffer(ctx, "Replay these", where, "since", query.Get("since"), "until", query.Get("until"))
	}
	return p, nil
}
