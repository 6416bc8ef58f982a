package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/web/access"
	"tributary/web/filter"
)

// linked is what the address of each operation begins with that is asked by a centre's link.
const linked = access.CentrePath + "/{token}"

// notYours is the one answer for what is another's and for what there is not.
func notYours() error {
	return &refusal{"not_yours", http.StatusNotFound, "There is nothing of yours at this address."}
}

// ownNarrowed is what a list of a centre's own is narrowed to. Package filter reads it.
type ownNarrowed struct {
	Q         string `query:"q" doc:"part of the file's name"`
	Status    string `query:"status" doc:"pending, running, done, cancelled or failed"`
	Phase     string `query:"phase" doc:"where it stands"`
	Exception string `query:"exception" doc:"its own, or one of its documents'"`
	Action    string `query:"action" doc:"add, edit or delete"`
	Since     string `query:"since" doc:"changed last at or after this moment: RFC 3339, a date, or how long ago, such as 7d"`
	Until     string `query:"until" doc:"changed last before this moment"`
	Waiting   string `query:"waiting" doc:"true: only what has not come to its end"`
	SHA256    string `query:"sha256" doc:"the beginning of a version's hash, six digits or more"`
	Sort      string `query:"sort" doc:"name, newest or oldest"`
	After     string `query:"after" doc:"the next of the page before"`
	Limit     string `query:"limit" doc:"how many rows a page has at most"`

	query url.Values
}

// Resolve keeps the address as it was asked.
func (n *ownNarrowed) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	n.query = address.Query()
	return nil
}

type ownFile struct {
	Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
	Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
}

type ownDocument struct {
	Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
	Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
	Entry  string `query:"entry" required:"true" maxLength:"1024" doc:"the document's name in the file"`
}

type ownWeek struct {
	Week string `path:"week" maxLength:"20" doc:"such as 2026-W47, of the last eight or the present one"`
}

// own registers what people of a centre see: by an account or a token with the role
// producer, and by the centre's link, which is its whole address.
func (a *API) own() {
	a.least = access.Producer
	defer func() { a.least = access.Reader }()
	seen(a, "", "getOwn", "What a centre sees of its own: its last seven days, what is wrong now, and its servers", func(ctx context.Context, v own.View, _ *nothing) (own.Home, error) {
		return v.Home(ctx)
	})
	seen(a, "/files", "listOwnFiles", "A centre's own files", func(ctx context.Context, v own.View, in *ownNarrowed) (report.Page[own.Row], error) {
		return ownPage(ctx, v, in, v.Files, own.FileRow)
	})
	seen(a, "/documents", "listOwnDocuments", "The documents of a centre's own files", func(ctx context.Context, v own.View, in *ownNarrowed) (report.Page[own.Row], error) {
		return ownPage(ctx, v, in, v.Documents, own.DocumentRow)
	})
	seen(a, "/files/{action}/{name}", "getOwnFile", "The story of one of a centre's own files, in plain words", func(ctx context.Context, v own.View, in *ownFile) (own.FileTold, error) {
		return v.File(ctx, in.Action, in.Name)
	})
	seen(a, "/files/{action}/{name}/document", "getOwnDocument", "One document of a centre's own files, with what is wrong with it", func(ctx context.Context, v own.View, in *ownDocument) (own.DocumentTold, error) {
		return v.DocumentTold(ctx, in.Action, in.Name, in.Entry)
	})
	seen(a, "/weeks/{week}", "getOwnWeek", "What came from a centre in a week, and how that stands now", func(ctx context.Context, v own.View, in *ownWeek) (own.Summary, error) {
		monday, ok := own.ParseWeek(in.Week, v.Now)
		if !ok {
			return own.Summary{}, notYours()
		}
		return v.Of(ctx, monday)
	})
}

// ownPage is a page of a list, as programs read it.
func ownPage[T any](ctx context.Context, v own.View, in *ownNarrowed, list func(context.Context, report.Filter) (report.Page[T], error), row func(T) own.Row) (report.Page[own.Row], error) {
	out := report.Page[own.Row]{Rows: []own.Row{}}
	f, err := filter.Parse(in.query, v.Now)
	if err != nil {
		return out, err
	}
	f.Errors = 1
	p, err := list(ctx, f)
	for _, x := range p.Rows {
		out.Rows = append(out.Rows, row(x))
	}
	out.Next = p.Next
	return out, err
}

// seen registers an operation about what is a centre's own, by both ways to say which.
func seen[In, Out any](a *API, path, id, summary string, read func(ctx context.Context, v own.View, in *In) (Out, error)) {
	answer := func(ctx context.Context, in *In) (*struct{ Body Out }, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		v := own.View{Tracker: a.deps.Tracker, Centre: access.From(ctx).Centre, Now: a.deps.Now()}
		if v.Centre == "" {
			return nil, a.problem(id, notYours())
		}
		out, err := read(ctx, v, in)
		var unknown *report.UnknownError
		if errors.Is(err, report.ErrNotFound) || errors.As(err, &unknown) {
			err = notYours()
		}
		if err != nil {
			return nil, a.problem(id, err)
		}
		return &struct{ Body Out }{out}, nil
	}
	operation := reading("/own"+path, id, summary)
	operation.Description = "For the role producer, whose account or token is of one centre."
	huma.Register(a.huma, operation, answer)
	operation = reading("/own"+path, id+"ByLink", summary)
	operation.Path = linked + operation.Path
	operation.Description = "By a centre's link, which needs no account: its address is what the path begins with."
	operation.Security = []map[string][]string{}
	operation.Errors = append(operation.Errors, http.StatusTooManyRequests)
	operation.Parameters = []*huma.Param{{Name: "token", In: "path", Required: true, Description: "the secret of the link", Schema: &huma.Schema{Type: huma.TypeString}}}
	huma.Register(a.huma, operation, answer)
}

// byLink is the route of an operation that is asked by a centre's link.
func (a *API) byLink(pattern string, handler http.Handler) access.Route {
	r := access.Route{Pattern: pattern, Least: access.Nobody, Handler: http.NotFoundHandler()} // where nobody looks links up
	if a.deps.ByLink != nil {
		r.Handler = a.deps.ByLink(handler)
	}
	return r
}

// isLinked tells whether a pattern is of an operation that is asked by a centre's link.
func isLinked(pattern string) bool { return strings.Contains(pattern, " "+linked+"/") }
