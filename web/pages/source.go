package pages

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"tributary/internal/config"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/order"
)

const (
	// pollsShown is how many polls a page lists.
	pollsShown = 50
	// revisionsShown is how many revisions a source's page lists.
	revisionsShown = 20
)

// source is the page of one source.
type source struct {
	Lead      lead
	Row       sourceRow
	Suspended *report.Suspended
	Polls     []report.Poll
	Older     string // the page of the polls before these; empty: there are none
	Before    *time.Time
	Errors    []report.SourceErrors
	Expected  *expect.Expectation
	Clock     string // what the last of the polls that are shown knew of its server's clock
	Next      []time.Time
	Revisions []report.SourceRevision // the newest first
	After     string                  // after which these are; empty: from the newest
	Earlier   string                  // the page of the revisions before these; empty: there are none
	Defined   string                  // as the configuration has it
	Known     *report.Reputation      // by what it is chosen of several hostings; nil: it is not known here
	Pace      *report.Throttled       // how fast it may be asked now; nil: nothing bounds that, or it is not known here
	Ignored   *ignored                // nil: it shows nothing that nobody takes up, or that is not known here
	Done      *doneWith               // nil: nothing is done there with what is inserted
}

func (s *Site) source(ctx context.Context, r *http.Request) (page, error) {
	id := r.PathValue("id")
	before, err := moment(r, "before")
	if err != nil {
		return page{}, err
	}
	d := source{After: r.URL.Query().Get("revisions")}
	polls, err := report.Polls(ctx, s.Tracker, id, before, pollsShown+1)
	if err != nil {
		return page{}, err
	}
	if d.Polls = polls[:min(len(polls), pollsShown)]; len(polls) > pollsShown {
		d.Older = s.to("/sources/"+url.PathEscape(id), "before", d.Polls[pollsShown-1].Ended.UTC().Format(time.RFC3339Nano))
	}
	if !before.IsZero() {
		d.Before = &before
	}
	if err := s.fill(ctx, id, r.URL.Query().Get("ignored"), &d); err != nil {
		return page{}, err
	}
	for _, p := range d.Polls {
		if d.Clock = p.Counts["clock"]; d.Clock != "" {
			break
		}
	}
	d.Lead = sourceLead(d)
	offers := append(s.defineOffers(ctx, order.Sources, id, d.Row.Word), s.offers(ctx, order.Sources, id, d.Row.Word)...)
	return page{Title: id, At: "/sources", Template: "source", Data: d, Command: "tributary sources show " + id, Feeds: s.feeds("", id, "", ""), Offers: append(offers, s.actOffers(ctx, id, d.Done)...)}, nil
}

// fill reads what is known of the source beside its polls.
func (s *Site) fill(ctx context.Context, id, behind string, d *source) error {
	x, rests, err := report.FindSource(ctx, s.Tracker, id)
	if err != nil {
		return err
	}
	d.Suspended = rests
	if err := report.SourceErrorList(ctx, s.Tracker, id, func(e report.SourceErrors) error {
		d.Errors = append(d.Errors, e)
		return nil
	}); err != nil {
		return err
	}
	if err := expect.Sources(ctx, s.Tracker, id, func(e expect.Expectation) error {
		d.Expected = &e
		return nil
	}); err != nil {
		return err
	}
	var waiting expect.Outstanding
	if d.Expected != nil {
		waiting = d.Expected.Waiting
	}
	d.Row, _ = newSourceRow(x, d.Polls, waiting, "") // which Expected says
	revisions, err := report.SourceRevisionPage(ctx, s.Tracker, id, d.After, revisionsShown)
	if err != nil {
		return err
	}
	if d.Revisions = revisions.Rows; revisions.Next != "" {
		d.Earlier = s.to("/sources/"+url.PathEscape(id), "revisions", revisions.Next) + "#rev"
	}
	if text(x.Definition) != "" {
		d.Defined = defined(text(x.Definition))
	}
	if s.Control != nil && s.then == nil {
		if err := s.known(ctx, id, d); err != nil {
			return err
		}
		if d.Ignored, err = s.ignored(ctx, id, behind); err != nil {
			return err
		}
	}
	if d.Done, err = s.doneWith(ctx, id); err != nil {
		return err
	}
	if text(x.State) == "available" {
		d.Next = nextTimes(text(x.Definition), s.Now())
	}
	return nil
}

// known reads what control knows of the source.
func (s *Site) known(ctx context.Context, id string, d *source) error {
	known, err := control.Choices(ctx, s.Control, s.Now(), id)
	if err != nil {
		return err
	}
	if c, is := known[id]; is {
		r := report.ReputationOf(c)
		d.Known = &r
	}
	all, err := control.Standings(ctx, s.Control, id)
	if err != nil || len(all) == 0 || all[0].State == control.SourceRemoved {
		return err
	}
	d.Pace, err = report.ThrottledOf(ctx, s.Control, all[0], s.Now())
	return err
}

// defined is a definition as the configuration would have it, or as it was told where a
// newer program has written it.
func defined(definition string) string {
	src, err := config.ParseDefinition(definition)
	if err != nil {
		return definition
	}
	yaml, err := config.SourcesYAML([]config.Source{src})
	if err != nil {
		return definition
	}
	return string(yaml)
}

func sourceLead(d source) lead {
	name := d.Row.ID
	switch {
	case d.Row.Word == "removed":
		return lead{"cancelled", name + " was removed: nothing comes from there any more.", ""}
	case d.Row.Word == "suspended":
		return lead{"failed", name + " is suspended: it is only probed, and nothing is fetched from it.", ""}
	case d.Row.Word == "maintenance":
		return lead{"pending", name + " is in maintenance: it is left alone.", ""}
	case d.Row.Source.LastPoll == nil:
		return lead{"pending", name + " has not been polled yet.", ""}
	case text(d.Row.Source.Poll) == "failed":
		return lead{d.Row.Shape, "The last poll of " + name + " failed.", "#polls"}
	case d.Expected != nil && d.Expected.Late():
		return lead{"late", name + " answers, but nothing new has come for longer than usual.", "#expected"}
	}
	return lead{"done", name + " delivers.", "#polls"}
}

// errMoment says what a moment in an address has to be.
var errMoment = errors.New("give a time as 2006-01-02T15:04:05Z")

// moment reads a time from an address; the zero time where there is none.
func moment(r *http.Request, name string) (time.Time, error) {
	value := r.URL.Query().Get(name)
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return t, errors.Join(errBadFilter, errMoment)
	}
	return t, nil
}
