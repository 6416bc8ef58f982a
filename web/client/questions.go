package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/queries/centrereport"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/web/order"
)

// page is how many rows are asked for at once.
const page = report.MaxPage

// Status is where everything stands, as report.Stand tells it, and beside it what is
// not in the tracker, as the server sees it.
func (c *Client) Status(ctx context.Context, oldest int) (s report.Status, err error) {
	return s, c.get(ctx, "/status", url.Values{"oldest": {strconv.Itoa(oldest)}}, &s)
}

// Files is report.Files.
func (c *Client) Files(ctx context.Context, f report.Filter, each func(report.File) error) error {
	return list(ctx, c, "/files", f, each)
}

// Documents is report.Documents.
func (c *Client) Documents(ctx context.Context, f report.Filter, each func(report.Document) error) error {
	f.Source = ""
	return list(ctx, c, "/documents", f, each)
}

// list asks for page after page.
func list[T any](ctx context.Context, c *Client, path string, f report.Filter, each func(T) error) error {
	query, err := asked(f)
	if err != nil {
		return err
	}
	return pages(ctx, c, path, query, f.Limit, each)
}

// pages asks for page after page, at most limit rows; 0: all.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values, limit int, each func(T) error) error {
	for left := limit; ; {
		query.Set("limit", strconv.Itoa(page))
		if limit > 0 {
			query.Set("limit", strconv.Itoa(min(left, page)))
		}
		var p report.Page[T]
		if err := c.get(ctx, path, query, &p); err != nil {
			return err
		}
		for _, row := range p.Rows {
			if err := each(row); err != nil {
				return err
			}
		}
		if left -= len(p.Rows); p.Next == "" || limit > 0 && left <= 0 {
			return nil
		}
		query.Set("after", p.Next)
	}
}

// asked is a filter as addresses have it.
func asked(f report.Filter) (url.Values, error) {
	if strings.Contains(f.Contains, "*") {
		return nil, &report.FilterError{Filter: "q", Value: f.Contains, Want: "a server takes * for any characters: give it as the name"}
	}
	query := url.Values{}
	for name, value := range map[string]string{
		"name": f.Name, "q": f.Contains, "action": f.Action, "centre": f.Centre, "source": f.Source, "phase": f.Phase, "status": f.Status,
		"exception": f.Exception, "qc": f.QC, "session": f.Session, "sha256": f.SHA256, "sort": f.Sort, "after": f.After, "since": moment(f.Since), "until": moment(f.Until),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Waiting {
		query.Set("waiting", "true")
	}
	return query, nil
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Show is report.Show, with the priority that a person has given.
func (c *Client) Show(ctx context.Context, name, action string) (out []report.Story, err error) {
	for _, a := range []string{"add", "delete", "edit"} { // in Show's order
		if action != "" && action != a {
			continue
		}
		var s report.Story
		err := c.get(ctx, "/files/"+a+"/"+url.PathEscape(name), nil, &s)
		if is(err, "no_such_file") {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w: list those known with `tributary files`", name, report.ErrNotFound)
	}
	return out, nil
}

func is(err error, name string) bool {
	e, ok := err.(*Error) //nolint:errorlint // it is never wrapped here
	return ok && e.Name == name
}

// rows asks for a list that comes as a whole.
func rows[T any](ctx context.Context, c *Client, path string, query url.Values, each func(T) error) error {
	var all []T
	if err := c.get(ctx, path, query, &all); err != nil {
		return err
	}
	for _, row := range all {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

// Sources is report.Sources.
func (c *Client) Sources(ctx context.Context, each func(report.Source) error) error {
	return rows(ctx, c, "/sources", nil, each)
}

// Centres is report.Centres.
func (c *Client) Centres(ctx context.Context, each func(report.Centre) error) error {
	return rows(ctx, c, "/centres", nil, each)
}

// SourceRevisions is report.SourceRevisions.
func (c *Client) SourceRevisions(ctx context.Context, source string, each func(report.SourceRevision) error) error {
	query := url.Values{"limit": {strconv.Itoa(page)}}
	var all []report.SourceRevision // a server tells the newest first
	for {
		var p report.Page[report.SourceRevision]
		if err := c.get(ctx, "/sources/"+url.PathEscape(source)+"/revisions", query, &p); err != nil {
			return err
		}
		all = append(all, p.Rows...)
		if p.Next == "" {
			break
		}
		query.Set("after", p.Next)
	}
	for _, r := range slices.Backward(all) {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// Standing is how a source stands: for programs, and for people.
type Standing struct {
	Standing json.RawMessage
	Text     string
}

// Standing tells how a source stands, is defined and was checked.
func (c *Client) Standing(ctx context.Context, source string) (s Standing, err error) {
	return s, c.get(ctx, "/sources/"+url.PathEscape(source)+"/standing", nil, &s)
}

const (
	// MostReplays is how many replays a server lists.
	MostReplays = 1000
	// MostLetters is how many dead letters it lists.
	MostLetters = deadletter.MaxNewest
)

// CentreReport is what a centre is told about its files, as text or html.
func (c *Client) CentreReport(ctx context.Context, format string, o centrereport.Options) (string, error) {
	var r struct{ Text string }
	query := url.Values{"format": {format}, "errors": {strconv.Itoa(o.Limits.Errors)}, "files": {strconv.Itoa(o.Limits.Files)}}
	if !o.Since.IsZero() {
		query.Set("since", moment(o.Since))
	}
	err := c.get(ctx, "/centres/"+url.PathEscape(o.Centre)+"/report", query, &r)
	return r.Text, err
}

// Held is order.Held.
func (c *Client) Held(ctx context.Context, each func(order.HeldFile) error) error {
	return rows(ctx, c, "/held-files", nil, each)
}

// Expected is expect.Sources.
func (c *Client) Expected(ctx context.Context, source string, each func(expect.Expectation) error) error {
	query := url.Values{}
	if source != "" {
		query.Set("source", source)
	}
	return rows(ctx, c, "/expected", query, each)
}

// Replays lists at most limit replays, the newest first.
func (c *Client) Replays(ctx context.Context, limit int, each func(*replay.Status) error) error {
	return rows(ctx, c, "/replays", url.Values{"limit": {strconv.Itoa(limit)}}, each)
}

// Replay tells of one replay, by number, run or shadow.
func (c *Client) Replay(ctx context.Context, name string) (*replay.Status, error) {
	r := &replay.Status{}
	return r, c.get(ctx, "/replays/"+url.PathEscape(name), nil, r)
}

// Letters lists at most limit of the dead letters of a topic and a group, empty: of
// all, of which all conditions hold; dropped: those that were dropped, too.
func (c *Client) Letters(ctx context.Context, conditions []string, topic, group string, limit int, dropped bool, each func(deadletter.Row) error) error {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "where": slices.Clone(conditions), "all": {strconv.FormatBool(dropped)}}
	for name, value := range map[string]string{"topic": topic, "group": group} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return rows(ctx, c, "/dead-letters", query, each)
}
