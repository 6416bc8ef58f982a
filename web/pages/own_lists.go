package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/filter"
)

// ownList is a list of a centre's files or documents.
type ownList struct {
	Path                string // where it is searched
	Heading, What       string
	Q                   string
	Kept                []pair
	Chips               []chip
	Choices             []option // ways to narrow it
	Rows                []ownRow
	Start, Next, Empty  string
	OtherTo, OtherTitle string
	SheetTo             string // the same as CSV; empty: there is none
}

// ownFilters are the filters of a centre's lists, as they are called elsewhere.
func ownFilters() []string {
	return []string{"q", "status", "phase", "exception", "action", "since", "until", "waiting", "sha256", "sort", "after"}
}

// ownList reads the filter of an address. One that is not offered is as good as one that
// can't be: nothing is to be learned from it.
func (at ownAt) list(r *http.Request, path string) (ownList, report.Filter, error) {
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains(ownFilters(), name) {
			return ownList{}, report.Filter{}, errBadFilter
		}
	}
	f, err := filter.Parse(query, at.Now)
	if err != nil {
		return ownList{}, f, err
	}
	if f.Sort == "" && f.Contains == "" {
		f.Sort = report.Newest
	}
	f.Limit, f.Errors = report.DefaultPage, 1
	l := ownList{Path: at.to(path), Q: query.Get("q")}
	for _, name := range ownFilters() {
		v := query.Get(name)
		if v == "" || name == "after" || name == "sort" {
			continue
		}
		l.Chips = append(l.Chips, chip{name, v, at.with(path, query, name, "")})
		if name != "q" {
			l.Kept = append(l.Kept, pair{name, v})
		}
	}
	for _, c := range []struct{ name, phase, status, waiting string }{
		{"All", "", "", ""}, {"Failed", "", "failed", ""}, {"On the way", "", "", "true"}, {"Loaded", "overview", "done", ""},
	} {
		chosen := query.Get("status") == c.status && query.Get("phase") == c.phase && query.Get("waiting") == c.waiting
		l.Choices = append(l.Choices, option{Name: c.name, Chosen: chosen, To: at.to(path, "phase", c.phase, "status", c.status, "waiting", c.waiting, "q", l.Q, "exception", query.Get("exception"), "action", query.Get("action"))})
	}
	if f.After != "" {
		l.Start = at.with(path, query, "after", "")
	}
	return l, f, nil
}

// with is the address of a list with another value of one filter, from its first page on.
func (at ownAt) with(path string, query url.Values, name, value string) string {
	var pairs []string
	for _, n := range ownFilters() {
		v := query.Get(n)
		if n == "after" {
			v = ""
		}
		if n == name {
			v = value
		}
		pairs = append(pairs, n, v)
	}
	return at.to(path, pairs...)
}

func (l *ownList) end(at ownAt, path string, query url.Values, next string) {
	if next != "" {
		l.Next = at.with(path, query, "after", next)
	}
	switch {
	case len(l.Rows) > 0:
	case l.Start != "":
		l.Empty = "Nothing follows: what was here has changed since."
	case len(l.Chips) > 0:
		l.Empty = "None of yours is of this kind."
	default:
		l.Empty = "Nothing of yours has been seen yet."
	}
}

func (s *Site) ownFiles(ctx context.Context, at ownAt, r *http.Request) (ownPage, error) {
	l, f, err := at.list(r, "/files")
	if err != nil {
		return ownPage{}, err
	}
	files, err := at.Files(ctx, f)
	if err != nil {
		return ownPage{}, err
	}
	for _, x := range files.Rows {
		l.Rows = append(l.Rows, at.fileRow(x))
	}
	l.Heading, l.What, l.OtherTo, l.OtherTitle = "Your files", "files", at.to("/documents", "status", "failed"), "Documents with errors"
	l.end(at, "/files", r.URL.Query(), files.Next)
	return ownPage{Title: l.Heading, Template: "list", Data: l}, nil
}

func (s *Site) ownDocuments(ctx context.Context, at ownAt, r *http.Request) (ownPage, error) {
	l, f, err := at.list(r, "/documents")
	if err != nil {
		return ownPage{}, err
	}
	documents, err := at.Documents(ctx, f)
	if err != nil {
		return ownPage{}, err
	}
	for _, x := range documents.Rows {
		var name *string
		row := ownRow{Action: x.Action, Name: x.File, Document: x.Document, To: at.fileTo(x.Action, x.File, "documents", x.Document)}
		if len(x.Errors) > 0 {
			name = &x.Errors[0].Exception
			row.why(*name, cut(text(x.Errors[0].Message)), "")
		}
		row.plainStatus = standing(x.Phase, x.Status, name)
		row.when(s, x.Last)
		l.Rows = append(l.Rows, row)
	}
	l.Heading, l.What, l.OtherTo, l.OtherTitle = "Your documents", "documents", at.to("/files"), "Your files"
	if f.Status == string(schemas.Failed) {
		l.SheetTo = at.with("/errors.csv", r.URL.Query(), "", "")
	}
	l.end(at, "/documents", r.URL.Query(), documents.Next)
	return ownPage{Title: l.Heading, Template: "list", Data: l}, nil
}
