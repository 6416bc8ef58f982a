// Package audit tells who ordered what, when and why: what people did about sources,
// centres, files, documents, dead letters, replays, reference tables and members, which
// are events with an author, and about accounts, which are written down beside them and
// are no events. It reads the tracker and what control says of accounts.
package audit

import (
	"context"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
)

// Account is the kind of what is about accounts, tokens and links.
const Account = "account"

// Kinds are what orders are about.
func Kinds() []string {
	return []string{Account, schemas.EntityAnnouncement, "centre", "dead_letter", "document", "file", "member", "reference", "replay", "source"}
}

// Order is something that somebody has ordered.
type Order struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`      // an account, token:NAME, or USER@HOST of a command
	Kind    string    `json:"kind"`    // one of Kinds
	Subject string    `json:"subject"` // a name; ACTION/NAME of a file, and /ENTRY of a document of it; the number of a replay
	What    string    `json:"what"`
	Reason  string    `json:"reason"` // as they said; empty: they said none
	Detail  string    `json:"detail"` // which keys changed, from what to what; what a replay was to choose

	id string // with the time its place in the list
}

// Filter narrows orders. Empty fields let everything through.
type Filter struct {
	By       string
	Kind     string
	Contains string    // part of the subject; capitals don't matter
	Since    time.Time // it was ordered then or later
	Until    time.Time // it was before
	After    string    // only what comes after: the Next of a page
	Limit    int       // of a page report.DefaultPage if 0, report.MaxPage at most; of Each 0: no limit
}

// Check returns a report.FilterError for what can't be.
func (f Filter) Check() error {
	for _, x := range []struct{ name, value string }{{"by", f.By}, {"q", f.Contains}} {
		if pg.Text(x.value) != x.value {
			return &report.FilterError{Filter: x.name, Value: x.value, Want: "this is no text"}
		}
	}
	if f.Kind != "" && !slices.Contains(Kinds(), f.Kind) {
		return &report.FilterError{Filter: "kind", Value: f.Kind, Want: "there is none of that name: there are " + strings.Join(Kinds(), ", ")}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return &report.FilterError{Filter: "since", Value: f.Since.UTC().Format(time.RFC3339), Want: "it is not before until, so that nothing can be between them"}
	}
	return nil
}

// Reader reads orders.
type Reader struct {
	Tracker pg.Querier
	Control pg.Querier // nil: what is about accounts is not told
}

// Page is a page of orders, the newest first. What can't be asked is a
// report.FilterError.
func (r Reader) Page(ctx context.Context, f Filter) (report.Page[Order], error) {
	if f.Limit <= 0 {
		f.Limit = report.DefaultPage
	}
	f.Limit = min(f.Limit, report.MaxPage)
	after, err := parsePlace(f.After)
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return report.Page[Order]{}, err
	}
	var all []Order
	for _, read := range []func(context.Context, Filter, place) ([]Order, error){r.events, r.accounts} {
		rows, err := read(ctx, f, after)
		if err != nil {
			return report.Page[Order]{}, err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b Order) int { return placeOf(b).compare(placeOf(a)) })
	p := report.Page[Order]{Rows: all}
	if len(all) > f.Limit {
		p.Rows = all[:f.Limit]
		p.Next = placeOf(p.Rows[f.Limit-1]).String()
	}
	return p, nil
}

// Each calls each with the orders, the newest first.
func (r Reader) Each(ctx context.Context, f Filter, each func(Order) error) error {
	for left := f.Limit; ; {
		f.Limit = report.MaxPage
		if left > 0 {
			f.Limit = min(left, report.MaxPage)
		}
		p, err := r.Page(ctx, f)
		if err != nil {
			return err
		}
		for _, o := range p.Rows {
			if err := each(o); err != nil {
				return err
			}
		}
		if f.After = p.Next; p.Next == "" || left > 0 && left == len(p.Rows) {
			return nil
		}
		if left > 0 {
			left -= len(p.Rows)
		}
	}
}

// Header names the cells of an order.
func Header() []string { return []string{"at", "by", "kind", "subject", "what", "reason", "detail"} }

// Cells are the order as Header has them.
func (o Order) Cells() []string {
	return []string{o.At.UTC().Format(time.RFC3339), o.By, o.Kind, o.Subject, o.What, o.Reason, o.Detail}
}
