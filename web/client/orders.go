package client

import (
	"context"
	"net/url"
	"strings"

	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/order"
)

// Wish is what an order says beside what it is about.
type Wish struct {
	Reason   string `json:"reason,omitempty"`
	Seen     string `json:"seen,omitempty"`     // order.Asked.Seen, of orders that can be tied to it
	Until    string `json:"until,omitempty"`    // the end of a source's maintenance
	Priority *int   `json:"priority,omitempty"` // of a file
	DryRun   bool   `json:"dry_run,omitempty"`  // only tell what would be done
}

// Order gives an order about a thing by the names that package order has for both; a
// file's subject is ACTION/NAME. What is refused is an outcome that is not done.
func (c *Client) Order(ctx context.Context, on, subject, name string, w Wish) (order.Outcome, error) {
	path := "/" + on
	for part := range strings.SplitSeq(subject, "/") {
		path += "/" + url.PathEscape(part)
	}
	var out order.Outcome
	err := c.send(ctx, path+"/"+name, w, &out)
	if is(err, "order_refused") || is(err, "definition_changed") {
		return order.Outcome{Subject: subject, Detail: err.Error()}, nil
	}
	return out, err
}

// Subjects are the files that somebody names, as ACTION/NAME: by that, or by their name.
func (c *Client) Subjects(ctx context.Context, named string) (out []string, err error) {
	action, _, whole := strings.Cut(named, "/")
	if whole && schemas.ActionOrder(action) != 0 {
		return []string{named}, nil
	}
	if strings.Contains(named, "*") { // which a server takes for any characters
		return nil, nil
	}
	err = c.Files(ctx, report.Filter{Name: named, Limit: 4}, func(f report.File) error {
		out = append(out, f.Action+"/"+f.File)
		return nil
	})
	return out, err
}

// Defined is how a source is to be defined.
type Defined struct {
	ID     string         `json:"id,omitempty"` // of a new one
	Keys   map[string]any `json:"keys,omitempty"`
	Update string         `json:"update,omitempty"` // one of config.UpdateKinds; empty: the source is new
	Reason string         `json:"reason,omitempty"`
}

// DefineSource adds a source, or edits the one that is there, whatever it is by now, as
// commands do. What can't be so is an Error with the name bad_order.
func (c *Client) DefineSource(ctx context.Context, id string, d Defined) (done sources.Change, err error) {
	if d.Update == "" {
		d.ID = id
		return done, c.send(ctx, "/sources", d, &done)
	}
	return done, c.send(ctx, "/sources/"+url.PathEscape(id)+"/edit", d, &done, "If-Match", "*")
}
