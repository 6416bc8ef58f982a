package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/filter"
	"tributary/web/past"
)

const (
	// tailRecipe is the question that the page of events asks.
	tailRecipe = "latest"
	// tailRows is how many events are shown, and tailSince how far back it is looked for
	// them unless the address says otherwise: what is old takes time to be found.
	tailRows, tailSince = 200, "1d"
)

// tail are the events that happened last.
type tail struct {
	Given    map[string]string // the filters, by name
	Since    string
	Sinces   []option
	Phases   []string
	Statuses []string
	Wrong    string
	Rows     []event
	Full     bool // there are older ones
}

// event is what one event says.
type event struct {
	At                                time.Time
	Clock, Full                       string
	What, Phase, Status, By, Attempt  string
	Exception, Message                string
	Centre, Source, Action, File      string
	Document                          string
	CentreTo, SourceTo, FileTo, DocTo string
}

// tailFilters are the filters of the page, as the recipe's parameters are called.
func tailFilters() []string {
	return []string{"centre", "source", "phase", "status", "exception", "file"}
}

func (s *Site) tail(ctx context.Context, r *http.Request) (page, error) {
	which, err := s.asker.Find(tailRecipe)
	if err != nil {
		return page{}, err
	}
	q := r.URL.Query()
	d := tail{Given: map[string]string{}, Since: q.Get("since")}
	if d.Since == "" {
		d.Since = tailSince
	}
	values := url.Values{"since": {d.Since}, "limit": {fmt.Sprint(tailRows)}}
	command := "tributary report " + tailRecipe
	for _, name := range tailFilters() {
		if v := q.Get(name); v != "" {
			if schemas.Clean(v) != v || len(v) > maxFilter {
				return page{}, fmt.Errorf("%w: %s can't be looked for", errBadFilter, name)
			}
			d.Given[name] = v
			values.Set(name, v)
			command += " --" + name + " " + filter.Quoted(v)
		}
	}
	for _, p := range schemas.Phases() {
		d.Phases = append(d.Phases, string(p))
	}
	for _, st := range schemas.Statuses() {
		d.Statuses = append(d.Statuses, string(st))
	}
	d.Sinces = s.tailSinces(d.Since, d.Given)
	var answer report.Answer
	values = s.upToThen(values)
	if until := values.Get("until"); until != "" {
		command += " --until " + until
	}
	err = s.asker.History(ctx, which, values, func(store report.ClickHouse) (err error) {
		answer, err = report.Ask(ctx, store, which.Statement, tailRows)
		return err
	})
	if err != nil {
		d.Wrong = err.Error()
	}
	at := func(name string) int {
		return slices.IndexFunc(answer.Columns, func(c report.AnswerColumn) bool { return c.Name == name })
	}
	for _, row := range answer.Rows {
		d.Rows = append(d.Rows, s.newEvent(func(name string) string { return row[at(name)] }))
	}
	d.Full = len(d.Rows) == tailRows
	return page{Title: "Events", At: "/tail", Template: "tail", Data: d, Feeds: s.feeds(d.Given["centre"], d.Given["source"], d.Given["exception"], d.Given["phase"]), Command: shown(command + " --since " + filter.Quoted(values.Get("since")))}, nil
}

// maxFilter is how long a filter may be, in bytes.
const maxFilter = 1024

// tailSinces are the addresses of the page that look so far back.
func (s *Site) tailSinces(chosen string, given map[string]string) []option {
	var out []option
	for _, since := range []string{"1h", "1d", "7d", "30d"} {
		query := []string{"since", since}
		for name, value := range given {
			query = append(query, name, value)
		}
		is := since == chosen
		if at, err := asof.ParseMoment(since, s.Now()); err == nil && s.then != nil {
			is = is || past.Text(at) == chosen // as links of a moment have it
		}
		out = append(out, option{Name: since, To: s.to("/tail", query...), Chosen: is})
	}
	return out
}

// newEvent is an event by its columns.
func (s *Site) newEvent(of func(column string) string) event {
	e := event{What: of("what"), Phase: of("phase"), Status: of("status"), By: of("by"), Attempt: of("attempt"), Exception: of("exception"), Message: of("message"),
		Centre: of("centre"), Source: of("source"), Action: of("action"), File: of("file"), Document: of("document")}
	if t, err := time.Parse(time.RFC3339Nano, of("at")); err == nil {
		e.At, e.Clock, e.Full = t, when(t, s.Now()), s.full(t)
	}
	// Not all of them have pages: events name whoever they concern.
	if e.Centre != "" {
		e.CentreTo = s.to("/tail", "centre", e.Centre)
	}
	if e.Source != "" {
		e.SourceTo = s.to("/tail", "source", e.Source)
	}
	if e.File != "" && e.Action != "" {
		e.FileTo = s.fileTo(e.Action, e.File)
		if e.Document != "" {
			e.DocTo = s.fileTo(e.Action, e.File, "documents", e.Document)
		}
	}
	return e
}
