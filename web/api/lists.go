package api

import (
	"context"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/filter"
)

// narrowed is what a list of files or documents is narrowed to. Package filter reads
// it, as it does for pages: here it is only described.
type narrowed struct {
	Name string `query:"name" doc:"the file's name; with * for any characters"`
	Momentary
	Q         string `query:"q" doc:"part of the file's name; with * for any characters it is the whole name"`
	Status    string `query:"status" doc:"pending, running, done, cancelled or failed"`
	Phase     string `query:"phase" doc:"where it stands"`
	Centre    string `query:"centre" doc:"that produced it, capitals don't matter"`
	Exception string `query:"exception" doc:"its own, or one of its documents'"`
	Action    string `query:"action" doc:"add, edit or delete"`
	Source    string `query:"source" doc:"fetched from"`
	Session   string `query:"session" doc:"in which it was found, by number or id"`
	Since     string `query:"since" doc:"changed last at or after this moment: RFC 3339, a date, or how long ago, such as 7d"`
	Until     string `query:"until" doc:"changed last before this moment"`
	Waiting   string `query:"waiting" doc:"true: only what has not come to its end"`
	SHA256    string `query:"sha256" doc:"the beginning of a version's hash, six digits or more"`
	QC        string `query:"qc" doc:"only documents that stand so in quality control, and their files: awaiting, accepted, questioned or held"`
	Sort      string `query:"sort" doc:"name, newest or oldest"`
	After     string `query:"after" doc:"the next of the page before"`
	Limit     string `query:"limit" doc:"how many rows a page has at most"`

	query url.Values
}

// Resolve keeps the address as it was asked.
func (n *narrowed) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	n.query = address.Query()
	return nil
}

// lists registers what lists files and documents, a page at a time.
func (a *API) lists() {
	list(a, "/files", "listFiles", "Files, and where each stands", report.FilePage, func(f *report.File, at *time.Time) { f.AsOf = at })
	list(a, "/documents", "listDocuments", "Documents, and where each stands", report.DocumentPage, func(d *report.Document, at *time.Time) { d.AsOf = at })
}

func list[T any](a *API, path, id, summary string, page func(context.Context, pg.Querier, report.Filter) (report.Page[T], error), stamp func(*T, *time.Time)) {
	scope := func(in *narrowed) asof.Scope {
		f, err := filter.Parse(in.query, time.Time{})
		if err != nil {
			return asof.Scope{} // the list itself says why
		}
		return asof.ScopeOf(f)
	}
	getAt(a, path, id, summary, scope, func(ctx context.Context, t tracked, in *narrowed) (report.Page[T], error) {
		f, err := filter.Parse(in.query, t.now)
		if err != nil {
			return report.Page[T]{}, err
		}
		if in.Name != "" {
			f.Name = in.Name
		}
		p, err := page(ctx, t.Querier, f)
		if p.Rows == nil {
			p.Rows = []T{}
		}
		for i := range p.Rows {
			stamp(&p.Rows[i], t.at)
		}
		return p, err
	})
}
