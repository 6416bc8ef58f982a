package past

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/filter"
)

// Asked is which changes are asked for. Names and grammar are those of the flags of
// `tributary diff`.
type Asked struct {
	From, To time.Time
	File     string // the file's name, with * for any characters
	Centre   string // that produced it, capitals don't matter
	asof.Narrowed
}

// Ask reads from the query of an address which changes are asked for. Without a moment to
// compare with, it is now. What can't be is a Problem or a report.FilterError.
func Ask(query url.Values, now time.Time) (Asked, error) {
	a := Asked{To: now.UTC().Truncate(time.Microsecond), File: query.Get("file"), Centre: query.Get("centre"),
		Narrowed: asof.Narrowed{Kind: query.Get("kind"), Change: query.Get("change"), After: query.Get("after"), Limit: report.DefaultPage}}
	var err error
	if a.From, err = Moment("from", query.Get("from"), now); err != nil {
		return a, err
	}
	if to := query.Get("to"); to != "" {
		if a.To, err = Moment("to", to, now); err != nil {
			return a, err
		}
	}
	if v := query.Get("limit"); v != "" {
		if a.Limit, err = strconv.Atoi(v); err != nil || a.Limit < 1 || a.Limit > report.MaxPage {
			return a, &report.FilterError{Filter: "limit", Value: v, Want: "write a number from 1 to " + strconv.Itoa(report.MaxPage)}
		}
	}
	if err := (report.Filter{Name: a.File, Centre: a.Centre}).Check(); err != nil {
		return a, err
	}
	return a, a.Check()
}

// Command is the command that tells the same.
func (a Asked) Command() string {
	words := "tributary diff --from " + Text(a.From) + " --to " + Text(a.To)
	if a.File != "" {
		words += " --file " + filter.Quoted(a.File)
	}
	if a.Centre != "" {
		words += " --centre " + filter.Quoted(a.Centre)
	}
	return words
}

// Changes are what changed between two moments: a page of it, and all in counts.
type Changes struct {
	Filled asof.Filled
	Counts []asof.Count
	Rows   []asof.Change
	Next   string // the After of the next page; empty: this is the last
}

// Changes returns what changed. The tracker says whether there is such a centre. The
// error is as those of At.
func (r *Reader) Changes(ctx context.Context, tracker pg.Querier, a Asked) (Changes, error) {
	var out Changes
	if err := report.Known(ctx, tracker, a.Centre, ""); err != nil {
		return out, err
	}
	err := r.Diff(ctx, a.From, a.To, asof.Scope{Name: a.File, Centre: a.Centre}, func(d *asof.Difference) (err error) {
		out.Filled, out.Counts = d.Filled, d.Counts
		out.Rows, out.Next, err = d.Page(ctx, a.Narrowed)
		return err
	})
	return out, err
}
