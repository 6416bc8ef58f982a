package client

import (
	"context"
	"net/url"

	"tributary/queries/audit"
)

// Audit is audit.Reader.Each of the server: who ordered what, the newest first. What is
// about accounts is told to operators only.
func (c *Client) Audit(ctx context.Context, f audit.Filter, each func(audit.Order) error) error {
	query := url.Values{}
	for name, value := range map[string]string{"by": f.By, "kind": f.Kind, "q": f.Contains, "since": moment(f.Since), "until": moment(f.Until), "after": f.After} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return pages(ctx, c, "/audit", query, f.Limit, each)
}
