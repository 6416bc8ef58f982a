package pages

import (
	"context"
	"net/http"
	"time"

	"tributary/queries/asof"
	"tributary/web/past"
)

// countsShown is how many ways in which things changed a page shows.
const countsShown = 100

// diffPage is what changed between two moments.
type diffPage struct {
	Lead     lead
	Given    map[string]string // what is asked for, as it was written
	Spans    []span            // until now, to begin with
	Shown    bool              // it is known from when
	From, To time.Time
	FromTo   string // everything as it stood then
	Said     string // how far the history goes
	Rail     *rail  // with what lies between them marked; nil: that is too long for one
	Ways     []way  // to what changed in as long a time before and after
	Totals   []diffTotal
	Counts   []asof.Count
	Left     int // counts that are not shown
	Rows     []diffRow
	All      string // every kind of change; empty: these are
	Start    string // the first page; empty: this is it
	Next     string
}

// diffTotal is how many files or documents changed in one way, and the list of them.
type diffTotal struct {
	Kind, Change, To string
	Count            int64
}

// diffRow is what one file or document did.
type diffRow struct {
	asof.Change

	Name, FileTo   string
	Entry          string // the document; empty: it is the file itself
	Was, Is        string // the pages of then and of the later moment; empty: it was not there
	OldSum, NewSum string // how the versions' hashes begin, where another replaced it
}

// diff says what changed, once it is known since when.
func (s *Site) diff(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	if s.Past == nil {
		return page{}, past.NoHistory()
	}
	d := diffPage{Given: map[string]string{}, Lead: lead{"pending", "Say since when: what changed since then is counted and listed.", ""}}
	for _, name := range []string{"from", "to", "file", "centre"} {
		d.Given[name] = query.Get(name)
	}
	for _, x := range []struct{ name, title string }{{"1h", "1 h"}, {"24h", "24 h"}, {"7d", "7 d"}} {
		d.Spans = append(d.Spans, span{Name: x.name, Title: x.title, To: s.to("/diff", "from", x.name, "file", d.Given["file"], "centre", d.Given["centre"]), Current: d.Given["from"] == x.name && d.Given["to"] == ""})
	}
	p := page{Title: "What changed", At: "/diff", Template: "diff", Data: &d, Still: true}
	if d.Given["from"] == "" {
		return p, nil
	}
	asked, err := past.Ask(query, s.Now())
	if err != nil {
		return page{}, err
	}
	changes, err := s.Past.Changes(ctx, s.Tracker, asked)
	if err != nil {
		return page{}, err
	}
	p.Command = shown(asked.Command())
	s.changed(&d, asked, changes)
	d.Rail, err = s.newRail(ctx, asked.From, asked.To, changes.Filled.Since)
	return p, err
}

// changed arranges changes. Links to other pages of these have the moments themselves, so
// that they stay the same.
func (s *Site) changed(d *diffPage, a past.Asked, c past.Changes) {
	d.Shown, d.From, d.To, d.Said = true, a.From, a.To, c.Filled.Said(a.To)
	before := !a.From.Before(c.Filled.Since)
	if before {
		d.FromTo = and(s.to("/"), asOf, past.Text(a.From))
	}
	address := func(kind, change, after string) string {
		return s.to("/diff", "from", past.Text(a.From), "to", past.Text(a.To), "file", a.File, "centre", a.Centre, "kind", kind, "change", change, "after", after)
	}
	long := a.To.Sub(a.From)
	beside := func(text string, from, to time.Time) {
		d.Ways = append(d.Ways, way{Text: text, To: s.to("/diff", "from", past.Text(from), "to", past.Text(to), "file", a.File, "centre", a.Centre)})
	}
	if before {
		beside("‹ As long before", a.From.Add(-long), a.From)
	}
	if a.To.Before(s.Now().Truncate(time.Second)) {
		to := a.To.Add(long)
		if to.After(s.Now()) {
			to = s.Now().Truncate(time.Microsecond)
		}
		beside("As long after ›", a.To, to)
	}
	totals := map[[2]string]int{}
	var files, documents int64
	for _, x := range c.Counts {
		if x.Kind == asof.Kinds()[0] {
			files += x.Count
		} else {
			documents += x.Count
		}
		key := [2]string{x.Kind, x.Change}
		if _, has := totals[key]; !has {
			totals[key] = len(d.Totals)
			d.Totals = append(d.Totals, diffTotal{Kind: x.Kind, Change: x.Change, To: address(x.Kind, x.Change, "")})
		}
		d.Totals[totals[key]].Count += x.Count
	}
	d.Counts = c.Counts[:min(len(c.Counts), countsShown)]
	d.Left = len(c.Counts) - len(d.Counts)
	d.Lead = lead{"done", "Nothing changed between the two moments.", ""}
	if len(c.Counts) > 0 {
		d.Lead = lead{"running", plural(int(files), "file", "files") + " and " + plural(int(documents), "document", "documents") + " changed.", "#changes"}
	}
	if a.Kind+a.Change != "" {
		d.All = address("", "", "")
	}
	if a.After != "" {
		d.Start = address(a.Kind, a.Change, "")
	}
	if c.Next != "" {
		d.Next = address(a.Kind, a.Change, c.Next)
	}
	for _, x := range c.Rows {
		d.Rows = append(d.Rows, s.newDiffRow(x, a, before))
	}
}

// newDiffRow is a change, with the pages of both moments; before tells whether the first
// one can be shown.
func (s *Site) newDiffRow(x asof.Change, a past.Asked, before bool) diffRow {
	r := diffRow{Change: x, Name: x.Action + "/" + x.File, FileTo: s.fileTo(x.Action, x.File), Entry: text(x.Document)}
	to := r.FileTo
	if r.Entry != "" {
		to = s.fileTo(x.Action, x.File, "documents", r.Entry)
	}
	if x.From != nil && before {
		r.Was = and(to, asOf, past.Text(a.From))
	}
	if x.To != nil {
		r.Is = and(to, asOf, past.Text(a.To))
	}
	if x.Change == asof.Replaced && x.From != nil && x.To != nil {
		r.OldSum, r.NewSum = beginning(x.From.Version), beginning(x.To.Version)
	}
	return r
}

// beginning is how a hash begins.
func beginning(sum *string) string {
	text := text(sum)
	return text[:min(len(text), 12)]
}
