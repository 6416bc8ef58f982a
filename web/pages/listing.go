package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/filter"
)

// listing is what the lists of files and of documents have in common: what they are
// narrowed to, and what leads elsewhere. Its state is in its address.
type listing struct {
	Path    string // /files
	Q       string
	Kept    []pair // the other filters, which a search keeps
	Chips   []chip
	Facets  []facet
	Choices report.Choices
	Chosen  map[string]string
	Sorts   []option
	Sheet   string // the address of the same as CSV; empty: there is none
	Heading string // with how many there are, where that is known
	Start   string // the first page; empty: this is it
	Next    string
	Empty   string // why there is nothing
	EmptyTo string // where the answer is why a file of this name is not here; empty: nowhere
}

type pair struct{ Name, Value string }

// chip is a filter that can be taken away.
type chip struct{ Name, Value, Without string }

// facet is one way to narrow a list.
type facet struct {
	Name    string
	Options []option
}

type option struct {
	Name   string
	Status string // whose shape is shown
	Count  string
	To     string
	Chosen bool
}

// list reads the filter of an address, and prepares what is around the list.
func (s *Site) list(ctx context.Context, r *http.Request, path string) (listing, report.Filter, error) {
	query := r.URL.Query()
	f, err := filter.Parse(query, s.Now())
	if err != nil {
		return listing{}, f, err
	}
	if f.Sort == "" && f.Contains == "" { // a part of a name is looked for in the order of names
		f.Sort = report.Newest
	}
	f.Limit = report.DefaultPage
	l := listing{Path: path, Heading: strings.ToUpper(path[1:2]) + path[2:], Q: query.Get("q"), Chosen: map[string]string{}}
	for _, name := range filter.Names() {
		v := query.Get(name)
		if v == "" {
			continue
		}
		l.Chosen[name] = v
		said := name
		if name == "q" {
			said = "name"
		}
		l.Chips = append(l.Chips, chip{said, v, s.with(path, query, name, "")})
		if name != "q" {
			l.Kept = append(l.Kept, pair{name, v})
		}
	}
	if v := query.Get("sort"); v != "" {
		l.Kept = append(l.Kept, pair{"sort", v})
	}
	for _, sort := range []string{report.Newest, report.Oldest, report.ByName} {
		l.Sorts = append(l.Sorts, option{Name: sort, To: s.with(path, query, "sort", sort), Chosen: f.Sort == sort || f.Sort == "" && sort == report.ByName})
	}
	if f.After != "" {
		l.Start = s.with(path, query, "after", "")
	}
	if l.Choices, err = report.ReadChoices(ctx, s.Tracker); err != nil {
		return l, f, err
	}
	return l, f, nil
}

// with is the address of a list with another value of one filter; empty takes it away.
// It is that of the first page.
func (s *Site) with(path string, query url.Values, name, value string) string {
	var pairs []string
	for _, n := range append(filter.Names(), "sort") {
		v := query.Get(n)
		if n == name {
			v = value
		}
		pairs = append(pairs, n, v)
	}
	if name == "after" {
		pairs = append(pairs, "after", value)
	}
	return s.to(path, pairs...)
}

// facets are the ways to narrow a list. Counts are of a list that nothing but phase and
// status narrows; nil where nobody knows them.
func (s *Site) facets(l *listing, query url.Values, counts []report.Count) {
	one := func(name string, values []string) facet {
		f := facet{Name: name}
		for _, v := range values {
			o := option{Name: v, To: s.with(l.Path, query, name, v), Chosen: l.Chosen[name] == v}
			if o.Chosen {
				o.To = s.with(l.Path, query, name, "")
			}
			f.Options = append(f.Options, o)
		}
		return f
	}
	var statuses, phases []string
	for _, x := range schemas.Statuses() {
		statuses = append(statuses, string(x))
	}
	for _, x := range schemas.Phases() {
		phases = append(phases, string(x))
	}
	byStatus, byPhase := one("status", statuses), one("phase", phases)
	for i := range byStatus.Options {
		byStatus.Options[i].Status = byStatus.Options[i].Name
	}
	if counts != nil {
		total := func(phase, status string) (n int64) {
			for _, c := range counts {
				if (phase == "" || c.Phase == phase) && (status == "" || c.Status == status) {
					n += c.Count
				}
			}
			return n
		}
		for i, o := range byStatus.Options {
			byStatus.Options[i].Count = count(total(l.Chosen["phase"], o.Name))
		}
		for i, o := range byPhase.Options {
			byPhase.Options[i].Count = count(total(o.Name, l.Chosen["status"]))
		}
		l.Heading = plural(int(total(l.Chosen["phase"], l.Chosen["status"])), "file", "files")
	}
	l.Facets = []facet{byStatus, byPhase, one("action", []string{"add", "edit", "delete"}), one("centre", l.Choices.Centres)}
}

// maxExceptions is how many exceptions a list offers to be narrowed to, the most frequent
// first; the form has all.
const maxExceptions = 12

// exceptions are the ways to narrow a list of files by that with which they failed. How many
// there are of each is said where nothing else narrows the list.
func (s *Site) exceptions(l *listing, query url.Values, failed []report.FailedCount) {
	known := !slices.ContainsFunc(l.Chips, func(c chip) bool { return c.Name != "status" && c.Name != "exception" && c.Name != "centre" })
	if st := l.Chosen["status"]; st != "" && st != string(schemas.Failed) || s.then != nil && !onlyStands(*l) {
		return
	}
	f := facet{Name: "exception"}
	for _, x := range failed {
		n := x.Files
		if l.Chosen["centre"] != "" {
			n = x.OfCentre
		}
		chosen := l.Chosen["exception"] == x.Exception
		if n == 0 || len(f.Options) >= maxExceptions && !chosen {
			continue
		}
		o := option{Name: x.Exception, To: s.with(l.Path, query, "exception", x.Exception), Chosen: chosen}
		if chosen {
			o.To = s.with(l.Path, query, "exception", "")
		}
		if known {
			o.Count = count(n)
		}
		f.Options = append(f.Options, o)
	}
	l.Facets = append(l.Facets, f)
}

// end says where the list goes on, or why it is empty.
func (s *Site) end(l *listing, query url.Values, rows int, next string) {
	if next != "" {
		l.Next = s.with(l.Path, query, "after", next)
	}
	switch {
	case rows > 0:
	case l.Start != "":
		l.Empty = "Nothing follows: what was here has changed since."
	case len(l.Chips) == 0:
		l.Empty = "No file has been seen yet. Files are listed here once a source shows them."
	case len(l.Chips) == 1 && l.Q != "":
		l.Empty = "None has this in the file's name."
		if s.Why != nil {
			l.EmptyTo = s.to("/why", "path", l.Q)
		}
	case len(l.Chips) == 1:
		l.Empty = "There is none of this kind."
	default:
		l.Empty = "None passes all of these filters; one taken away may show some."
	}
}

// subject is a file or a document as a row shows it.
type subject struct {
	Phase, Status            string
	Action, Name, To         string
	Document, DocumentTo     string
	Centre, CentreTo         string
	Source, SourceTo         string
	Size                     string
	Exception, ExceptionTo   string
	Message                  string
	Errors                   int
	Last, LastFull, DateTime string
}

// maxMessage is how many characters of a message a row has; its page has all.
const maxMessage = 300

func cut(text string) string {
	if r := []rune(text); len(r) > maxMessage {
		return string(r[:maxMessage]) + "…"
	}
	return text
}

// long is a text of others that a list shows the beginning of.
type long struct {
	Begin string
	Whole string // empty: the beginning is all of it
}

func newLong(text string) long {
	if begin := cut(text); begin != text {
		return long{begin, text}
	}
	return long{Begin: text}
}

// fileTo is the address of a file, or of what is below it.
func (s *Site) fileTo(action, name string, below ...string) string {
	parts := append([]string{"/files", url.PathEscape(action), url.PathEscape(name)}, below...)
	for i := 3; i < len(parts); i++ {
		parts[i] = url.PathEscape(parts[i])
	}
	return s.to(strings.Join(parts, "/"))
}

// named gives a subject the addresses of its centre, source and exception.
func (s *Site) named(x *subject, of, centre, source, exception string, last *time.Time) {
	x.Centre, x.Source, x.Exception = centre, source, exception
	if centre != "" {
		x.CentreTo = s.centreAt(centre)
	}
	if source != "" {
		x.SourceTo = s.sourceAt(source)
	}
	if exception != "" {
		x.ExceptionTo = s.to(of, "exception", exception)
	}
	if last != nil {
		x.Last, x.LastFull, x.DateTime = s.recent(*last), s.full(*last), last.UTC().Format(time.RFC3339)
	}
}

// recent is a time in a list: how long ago, while that is short, else when, in UTC.
func (s *Site) recent(t time.Time) string {
	switch d := s.Now().Sub(t); {
	case d >= 0 && d < 2*time.Hour:
		return age(d)
	case d < 20*time.Hour:
		return t.UTC().Format("15:04:05")
	case t.UTC().Year() == s.Now().UTC().Year():
		return t.UTC().Format("2 Jan 15:04")
	}
	return t.UTC().Format("2 Jan 2006")
}

func (s *Site) full(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") }

// onlyStands tells whether a list is narrowed to a phase or a status at most.
func onlyStands(l listing) bool {
	return !slices.ContainsFunc(l.Chips, func(c chip) bool { return c.Name != "phase" && c.Name != "status" })
}

// number is a number that may not be known.
func number(n *int64) string {
	if n == nil {
		return "–"
	}
	return count(*n)
}
