package client

import (
	"context"
	"net/url"

	"tributary/queries/own"
	"tributary/queries/report"
)

// Own asks what is of one centre, whose link or whose producer's token a client has. What is
// not its own is an Error with the name not_yours.
type Own struct{ *Client }

// Home is (own.View).Home.
func (c Own) Home(ctx context.Context) (h own.Home, err error) {
	return h, c.get(ctx, "/own", nil, &h)
}

// Week is the summary of the week of that name.
func (c Own) Week(ctx context.Context, name string) (s own.Summary, err error) {
	return s, c.get(ctx, "/own/weeks/"+url.PathEscape(name), nil, &s)
}

// Files gives the centre's files.
func (c Own) Files(ctx context.Context, f report.Filter, each func(own.Row) error) error {
	return list(ctx, c.Client, "/own/files", f, each)
}

// Documents gives the documents of the centre's files.
func (c Own) Documents(ctx context.Context, f report.Filter, each func(own.Row) error) error {
	return list(ctx, c.Client, "/own/documents", f, each)
}

// File is (own.View).File.
func (c Own) File(ctx context.Context, action, name string) (f own.FileTold, err error) {
	return f, c.get(ctx, "/own/files/"+url.PathEscape(action)+"/"+url.PathEscape(name), nil, &f)
}

// Document is (own.View).DocumentTold.
func (c Own) Document(ctx context.Context, action, file, name string) (d own.DocumentTold, err error) {
	return d, c.get(ctx, "/own/files/"+url.PathEscape(action)+"/"+url.PathEscape(file)+"/document", url.Values{"entry": {name}}, &d)
}
