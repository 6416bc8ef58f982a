package audit

import (
	"cmp"
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/sql/control"
)

// place is where an order stands in the list: by time, at the same time those about
// accounts before events, and these by their numbers or ids. The zero place is before the
// newest.
type place struct {
	at     time.Time
	number int64     // of what is about accounts
	id     uuid.UUID // of an event
}

func placeOf(o Order) place {
	p := place{at: o.At}
	if o.Kind == Account {
		p.number, _ = strconv.ParseInt(o.id, 10, 64) // it was read from a number
	} else {
		p.id = uuid.MustParse(o.id)
	}
	return p
}

// compare is how places are ordered, the oldest first.
func (p place) compare(o place) int {
	return cmp.Or(p.at.Compare(o.at), cmp.Compare(p.number, o.number), cmp.Compare(p.id.String(), o.id.String()))
}

// String is the place as addresses have it.
func (p place) String() string {
	id := strconv.FormatInt(p.number, 10)
	if p.number == 0 {
		id = p.id.String()
	}
	return base64.RawURLEncoding.EncodeToString([]byte(p.at.UTC().Format(time.RFC3339Nano) + " " + id))
}

// maxPlace bounds a place in an address, in bytes.
const maxPlace = 200

func parsePlace(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	bad := &report.FilterError{Filter: "after", Value: text[:min(len(text), 60)], Want: "it is not where a page of this list ends: begin with the first one"}
	if len(text) > maxPlace {
		return p, bad
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return p, bad
	}
	moment, id, _ := strings.Cut(string(plain), " ")
	if p.at, err = time.Parse(time.RFC3339Nano, moment); err != nil || p.at.Year() < 1 || p.at.Year() > 9999 {
		return p, bad
	}
	if p.number, err = strconv.ParseInt(id, 10, 64); err == nil && p.number > 0 {
		return p, nil
	}
	p.number = 0
	if p.id, err = uuid.Parse(id); err != nil || p.id == uuid.Nil {
		return p, bad
	}
	return p, nil
}

// events reads what events tell, one row more than the filter's limit.
func (r Reader) events(ctx context.Context, f Filter, after place) ([]Order, error) {
	var w pg.Conditions
	if f.By != "" {
		w.Add("ordered_by = %s", f.By)
	}
	if f.Kind != "" {
		w.Add("kind = %s", f.Kind)
	}
	if f.Contains != "" {
		w.Add("strpos(lower(subject), lower(%s)) > 0", f.Contains)
	}
	if !f.Since.IsZero() {
		w.Add("ordered_at >= %s", f.Since)
	}
	if !f.Until.IsZero() {
		w.Add("ordered_at < %s", f.Until)
	}
	switch {
	case after.number > 0: // events of that time come behind it
		w.Add("ordered_at <= %s", after.at)
	case !after.at.IsZero():
		w.Add("(ordered_at, id) < (%s::timestamptz, %s::uuid)", after.at, after.id)
	}
	return pg.List(ctx, r.Tracker, "read who ordered what", func(row pgx.CollectableRow) (o Order, err error) {
		err = row.Scan(&o.At, &o.By, &o.Kind, &o.Subject, &o.What, &o.Reason, &o.Detail, &o.id)
		o.At = o.At.UTC()
		return o, err
	}, "SELECT ordered_at, ordered_by, kind, subject, what, coalesce(reason, ''), coalesce(detail, ''), id::text FROM tracker.ordered"+w.Where()+
		" ORDER BY ordered_at DESC, id DESC LIMIT "+w.Arg(f.Limit+1), w.Args...)
}

// accounts reads what was changed of accounts, one row more than the filter's limit.
func (r Reader) accounts(ctx context.Context, f Filter, after place) ([]Order, error) {
	if r.Control == nil || f.Kind != "" && f.Kind != Account {
		return nil, nil
	}
	asked := control.AccountChangeFilter{By: f.By, Subject: f.Contains, Since: f.Since, Until: f.Until, BeforeAt: after.at, BeforeNumber: after.number, Limit: f.Limit + 1}
	changes, err := control.AccountChanges(ctx, r.Control, asked)
	if err != nil {
		return nil, err
	}
	out := make([]Order, 0, len(changes))
	for _, c := range changes {
		out = append(out, Order{At: c.ChangedAt.UTC(), By: c.ChangedBy, Kind: Account, Subject: c.Subject, What: c.What, Reason: c.Reason, id: strconv.FormatInt(c.Number, 10)})
	}
	return out, nil
}
