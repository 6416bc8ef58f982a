package api

import (
	"context"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/web/access"
	"tributary/web/filter"
)

// ordered is what the list of who ordered what is narrowed to. Package filter reads it, as
// it does for the page: here it is only described.
type ordered struct {
	By    string `query:"by" doc:"who ordered it: an account, token:NAME, or USER@HOST of a command"`
	Kind  string `query:"kind" doc:"what it is about: account, announcement, centre, dead_letter, document, file, member, reference, replay or source"`
	Q     string `query:"q" doc:"part of what it is about, capitals don't matter"`
	Since string `query:"since" doc:"ordered at or after this moment: RFC 3339, a date, or how long ago, such as 7d"`
	Until string `query:"until" doc:"ordered before this moment"`
	After string `query:"after" doc:"the next of the page before"`
	Limit string `query:"limit" doc:"how many rows a page has at most"`

	query url.Values
}

// Resolve keeps the address as it was asked.
func (o *ordered) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	o.query = address.Query()
	return nil
}

// audit registers who ordered what.
func (a *API) audit() {
	a.least = access.Wrangler
	defer func() { a.least = access.Reader }()
	get(a, "/audit", "listOrdered", "Who ordered what, when and why, the newest first; what is about accounts for operators only", func(ctx context.Context, in *ordered) (report.Page[audit.Order], error) {
		f, err := filter.ParseAudit(in.query, a.deps.Now())
		if err != nil {
			return report.Page[audit.Order]{}, err
		}
		reader := audit.Reader{Tracker: a.deps.Tracker}
		if access.From(ctx).Role >= access.Operator {
			reader.Control = a.deps.Control
		}
		p, err := reader.Page(ctx, f)
		if p.Rows == nil {
			p.Rows = []audit.Order{}
		}
		return p, err
	})
}
