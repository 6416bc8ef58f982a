package client

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"tributary/internal/remote"
	"tributary/producers/poll"
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
	Link     int64  `json:"link,omitempty"`     // the number of a centre's link
	DryRun   bool   `json:"dry_run,omitempty"`  // only tell what would be done
}

// Order gives an order about a thing by the names that package order has for both; a
// file's subject is ACTION/NAME, a document's an order.DocumentSubject. What is refused is
// an outcome that is not done.
func (c *Client) Order(ctx context.Context, on, subject, name string, w Wish) (order.Outcome, error) {
	path := "/" + on
	for _, part := range strings.SplitN(subject, "/", 4) { // the name of a document may have more of them
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

// Defined is how a source or a centre is to be defined.
type Defined struct {
	ID     string         `json:"id,omitempty"` // of a new one
	Keys   map[string]any `json:"keys,omitempty"`
	Update string         `json:"update,omitempty"` // one of config.UpdateKinds, of a source; empty: merge
	Reason string         `json:"reason,omitempty"`
}

// Add adds a source or a centre (order.Sources, order.Centres). What can't be so is an
// Error with the name bad_order.
func (c *Client) Add(ctx context.Context, on string, d Defined) (done sources.Change, err error) {
	return done, c.send(ctx, "/"+on, d, &done)
}

// Edit edits the source or the centre that is there, whatever it is by now, as commands do.
func (c *Client) Edit(ctx context.Context, on, id string, d Defined) (done sources.Change, err error) {
	return done, c.send(ctx, "/"+on+"/"+url.PathEscape(id)+"/edit", d, &done, "If-Match", "*")
}

// Definition is how a source or a centre is defined.
type Definition struct {
	Definition json.RawMessage // with the keys of the configuration
	By         string          `json:"defined_by"` // configuration, profile or person
}

// Definition tells how a source or a centre is defined.
func (c *Client) Definition(ctx context.Context, on, id string) (d Definition, err error) {
	return d, c.get(ctx, "/"+on+"/"+url.PathEscape(id)+"/definition", nil, &d)
}

// Checked is what the check of a source found.
type Checked struct {
	Passed bool
	Steps  []remote.Step
}

// Check has the server connect to a source.
func (c *Client) Check(ctx context.Context, source string) (done Checked, err error) {
	return done, c.send(ctx, "/sources/"+url.PathEscape(source)+"/check", Defined{}, &done)
}

// Announce has the server look at files of a source (ACTION/NAME), and announce those that
// are there. What can't be
// ordered is an Error with the name bad_order; order_refused: the source can't be looked at.
func (c *Client) Announce(ctx context.Context, source string, paths []string, reason string) (all []poll.ByHand, err error) {
	for part := range slices.Chunk(paths, order.MostAnnounced) {
		var done []poll.ByHand
		if err := c.send(ctx, "/sources/"+url.PathEscape(source)+"/announce", map[string]any{"paths": part, "reason": reason}, &done); err != nil {
			return nil, err
		}
		all = append(all, done...)
	}
	return all, nil
}

// TestFilters tells what filters of a source do, and other keys that leave files, as they are
// or with other values, as [sources.Registry.TestFilters] does.
func (c *Client) TestFilters(ctx context.Context, source string, keys map[string]any) (done []sources.Filtered, err error) {
	return done, c.send(ctx, "/sources/"+url.PathEscape(source)+"/test-filter", Defined{Keys: keys}, &done)
}

// Many are definitions of many sources or centres (order.Sources, order.Centres).
type Many struct {
	Of     string `json:"of"`
	Text   string `json:"text"`
	Name   string `json:"name,omitempty"` // of the file
	Prune  bool   `json:"prune,omitempty"`
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

// Apply defines many at once, or only tells what would change. What can't be so is an Error
// with the name bad_order.
func (c *Client) Apply(ctx context.Context, m Many) (done []sources.Change, err error) {
	return done, c.send(ctx, "/definitions", m, &done)
}

// Export is how sources or centres are defined, all or those named, as Apply takes it.
func (c *Client) Export(ctx context.Context, of string, names []string) (string, error) {
	var d struct{ Text string }
	err := c.get(ctx, "/definitions", url.Values{"of": {of}, "name": names}, &d)
	return d.Text, err
}
