package client

import (
	"context"
	"net/url"
	"strings"

	"tributary/queries/explained"
	"tributary/queries/report"
	"tributary/recovery/quality"
	"tributary/web/order"
)

// Document is report.DocumentOf; one that the file doesn't show is an Error with the name
// no_such_document.
func (c *Client) Document(ctx context.Context, action, file, entry string) (d report.DocumentFacts, err error) {
	return d, c.get(ctx, "/files/"+action+"/"+url.PathEscape(file)+"/document", url.Values{"entry": {entry}}, &d)
}

// Explained is (*explained.Reader).Document of a document; one that the file doesn't show is
// an Error with the name no_such_document.
func (c *Client) Explained(ctx context.Context, action, file, entry string) (d explained.Document, err error) {
	return d, c.get(ctx, "/files/"+action+"/"+url.PathEscape(file)+"/document/errors", url.Values{"entry": {entry}}, &d)
}

// Decide has a server decide about a document in quality control (accept, question, hold),
// by the bytes that it shows now. What is refused is an outcome that is not done.
func (c *Client) Decide(ctx context.Context, d quality.Document, name string, w Wish) (quality.Outcome, error) {
	x, err := c.Document(ctx, d.Action, d.File, d.Entry)
	sha256 := strings.Repeat("0", 64) // of nothing: the server says why it can't be decided about
	switch {
	case err != nil && !is(err, "no_such_document"):
		return quality.Outcome{}, err
	case x.SHA256 != nil:
		sha256 = *x.SHA256
	}
	out, err := c.Order(ctx, order.Documents, order.DocumentSubject(d.Action, d.File, sha256, d.Entry), name, w)
	return quality.Outcome{Document: d.String(), Done: out.Done, Detail: out.Detail}, err
}
