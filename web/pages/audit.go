package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/access"
	"tributary/web/filter"
)

// auditPage is the list of who ordered what.
type auditPage struct {
	listing

	Lead lead
	Rows []orderedRow
}

// orderedRow is an order as the list shows it.
type orderedRow struct {
	audit.Order
	Kind                     string // in words
	To                       string // what it is about; empty: it has no page
	ByTo                     string // all that they ordered
	Last, LastFull, DateTime string
}

// audit is the page of who ordered what. What is about accounts is for operators.
func (s *Site) audit(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	f, err := filter.ParseAudit(query, s.Now())
	if err != nil {
		return page{}, err
	}
	f.Limit = report.DefaultPage
	reader, all := audit.Reader{Tracker: s.Tracker}, access.From(ctx).Role >= access.Operator
	if all {
		reader.Control = s.Control
	}
	found, err := reader.Page(ctx, f)
	if err != nil {
		return page{}, err
	}
	d := auditPage{listing: listing{Path: "/audit", Heading: "Orders", Chosen: map[string]string{}}}
	for _, name := range filter.AuditNames() {
		if v := query.Get(name); v != "" {
			d.Chosen[name] = v
			d.Chips = append(d.Chips, chip{name, v, s.ordered(query, name, "")})
		}
	}
	about := facet{Name: "kind"}
	for _, kind := range audit.Kinds() {
		o := option{Name: kind, To: s.ordered(query, "kind", kind), Chosen: f.Kind == kind}
		if o.Chosen {
			o.To = s.ordered(query, "kind", "")
		}
		if all || kind != audit.Account {
			about.Options = append(about.Options, o)
		}
	}
	d.Facets = []facet{about}
	for _, o := range found.Rows {
		d.Rows = append(d.Rows, orderedRow{Order: o, Kind: inWords(o.Kind), To: s.orderedTo(o), ByTo: s.ordered(query, "by", o.By),
			Last: s.recent(o.At), LastFull: s.full(o.At), DateTime: o.At.Format(time.RFC3339)})
	}
	if f.After != "" {
		d.Start = s.ordered(query, "after", "")
	}
	if found.Next != "" {
		d.Next = s.ordered(query, "after", found.Next)
	}
	d.say(s.Now())
	return page{Title: "Audit log", At: "/audit", Template: "audit", Data: d, Command: shown(filter.AuditCommand(query))}, nil
}

// say says what was ordered last, of what the list is narrowed to.
func (d *auditPage) say(now time.Time) {
	switch {
	case len(d.Rows) == 0 && d.Start != "":
		d.Lead = lead{"pending", "Nothing was ordered before.", ""}
	case len(d.Rows) == 0 && len(d.Chips) == 0:
		d.Lead = lead{"pending", "Nobody has ordered anything yet.", ""}
	case len(d.Rows) == 0:
		d.Lead = lead{"pending", "Nobody has ordered such a thing.", ""}
	case d.Start != "":
		d.Lead = lead{"done", "What was ordered before " + d.Rows[0].LastFull + ".", ""}
	case len(d.Chips) > 0:
		d.Lead = lead{"done", "The last of these orders was given by " + d.Rows[0].By + ", " + age(now.Sub(d.Rows[0].At)) + " ago.", ""}
	default:
		d.Lead = lead{"done", "The last order was given by " + d.Rows[0].By + ", " + age(now.Sub(d.Rows[0].At)) + " ago.", ""}
	}
}

func inWords(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// ordered is the address of the list with another value of one filter; empty takes it
// away.
func (s *Site) ordered(query url.Values, name, value string) string {
	pairs := []string{}
	for _, n := range filter.AuditNames() {
		v := query.Get(n)
		if n == name {
			v = value
		}
		pairs = append(pairs, n, v)
	}
	if name == "after" {
		pairs = append(pairs, name, value)
	}
	return s.to("/audit", pairs...)
}

// orderedTo is the page of what an order is about; empty: it has none.
func (s *Site) orderedTo(o audit.Order) string {
	switch o.Kind {
	case "source":
		return s.sourceAt(o.Subject)
	case "centre":
		return s.centreAt(o.Subject)
	case "replay":
		return s.replayAt(o.Subject)
	case "file", "document", "dead_letter", schemas.EntityAnnouncement:
		action, file, _ := strings.Cut(o.Subject, "/")
		name, entry, of := strings.Cut(file, "/")
		if name == "" {
			return ""
		}
		if of && o.Kind == "document" {
			return s.fileTo(action, name, "documents", entry)
		}
		return s.fileTo(action, name)
	}
	return ""
}
