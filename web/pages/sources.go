package pages

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/schemas/exception"
	"tributary/web/order"
)

// sources are the page of all sources.
type sources struct {
	Lead    lead
	Count   int
	Waiting int64 // files to be fetched
	Groups  []sourceGroup
	Orders  bool // some row has a menu
}

type sourceGroup struct {
	Title string
	Rows  []sourceRow
}

// sourceRow is a source as the list shows it.
type sourceRow struct {
	ID      string
	Source  report.Source
	Shape   string // whose icon is shown
	Word    string // says the same
	Every   string
	Ticks   ticks
	Waiting expect.Outstanding
	Late    string // what is said of it if it is late; empty: it isn't
	Meaning string // of its last poll's exception
	Do      string
	Where   string
	Menu    rowMenu
}

// What a source may need, those first that need somebody.
const (
	needsSomebody = iota
	isLate
	triesAgain
	works
	rests
	isRemoved
	groups
)

func (s *Site) sources(ctx context.Context, _ *http.Request) (page, error) {
	polls := map[string][]report.Poll{}
	var waiting map[string]expect.Outstanding
	var late []report.Late
	var found []report.Source
	if err := pg.Together(ctx, s.Tracker,
		pg.Into(&late, func(ctx context.Context) ([]report.Late, error) { return expect.LateSources(ctx, s.Tracker) }),
		pg.Into(&waiting, func(ctx context.Context) (map[string]expect.Outstanding, error) {
			return expect.Waiting(ctx, s.Tracker, "")
		}),
		func(ctx context.Context) error {
			return report.LastPolls(ctx, s.Tracker, tickCount, func(p report.Poll) error {
				polls[p.Source] = append(polls[p.Source], p)
				return nil
			})
		},
		func(ctx context.Context) error {
			return report.Sources(ctx, s.Tracker, func(x report.Source) error {
				found = append(found, x)
				return nil
			})
		}); err != nil {
		return page{}, err
	}
	titles := [groups]string{"Needs somebody", "Late: it answers, but nothing new has come for longer than usual", "Fails, and is tried again by itself", "Working", "In maintenance", "Removed"}
	var all [groups][]sourceRow
	said := map[string]string{}
	for _, l := range late {
		said[l.Source] = l.Said
	}
	d := sources{}
	for i, x := range found {
		row, group := newSourceRow(x, polls[x.Source], waiting[x.Source], said[x.Source])
		if row.Every == "" && s.Every > 0 && text(x.Definition) != "" {
			row.Every = config.Duration(s.Every).String() + ", as all"
		}
		if s.then == nil {
			row.Menu = rowMenu{"m-" + strconv.Itoa(i), x.Source, s.byStanding(ctx, order.Sources, x.Source, row.Word)}
			d.Orders = d.Orders || len(row.Menu.Offers) > 0
		}
		all[group] = append(all[group], row)
		d.Waiting += row.Waiting.Files
	}
	for i, rows := range all {
		if len(rows) > 0 {
			d.Groups = append(d.Groups, sourceGroup{titles[i], rows})
		}
		if i != isRemoved {
			d.Count += len(rows)
		}
	}
	d.Lead = sourcesLead(s, d.Count, all)
	return page{Title: "Sources", At: "/sources", Template: "sources", Data: d, Command: "tributary sources", Offers: s.defineOffers(ctx, order.Sources, "", "")}, nil
}

func sourcesLead(s *Site, n int, all [groups][]sourceRow) lead {
	switch {
	case n == 0 && s.then != nil:
		return lead{"pending", "There was no source then.", ""}
	case n == 0:
		return lead{"pending", "There is no source yet.", ""}
	}
	l := lead{Status: "done", Text: fmt.Sprintf("%d of %s deliver as usual", len(all[works]), plural(n, "source", "sources"))}
	var odd []string
	tell := func(rows []sourceRow, status, one, many string) {
		switch {
		case len(rows) == 0:
			return
		case len(rows) == 1:
			odd = append(odd, rows[0].ID+one)
		default:
			odd = append(odd, strconv.Itoa(len(rows))+many)
		}
		if l.Status == "done" {
			l.Status = status
			if len(rows) == 1 {
				l.To = s.sourceAt(rows[0].ID)
			}
		}
	}
	tell(all[needsSomebody], "failed", " needs somebody", " need somebody")
	tell(all[isLate], "late", " is late", " are late")
	tell(all[triesAgain], "late", " fails and is tried again by itself", " fail and are tried again by themselves")
	if len(odd) > 0 {
		l.Text += "; " + strings.Join(odd, ", ")
	}
	l.Text += "."
	return l
}

// newSourceRow says what a source's row shows, and in which group it is.
func newSourceRow(x report.Source, polls []report.Poll, waiting expect.Outstanding, late string) (sourceRow, int) {
	r := sourceRow{ID: x.Source, Source: x, Shape: "done", Word: text(x.State), Ticks: newTicks(x.Source, polls), Waiting: waiting, Every: every(text(x.Definition)), Where: address(x)}
	if e, known := exception.Find(text(x.Exception)); known {
		r.Meaning, r.Do = e.Happened, e.Do
	}
	failed := text(x.Poll) == "failed"
	switch {
	case r.Word == "removed":
		r.Shape = "cancelled"
		return r, isRemoved
	case r.Word == "suspended":
		r.Shape = "failed"
		return r, needsSomebody
	case r.Word == "maintenance":
		r.Shape = "pending"
		return r, rests
	case failed && exception.MoveOf(text(x.Exception)) == exception.Nobody:
		r.Shape = "late"
		return r, triesAgain
	case failed:
		r.Shape = "failed"
		return r, needsSomebody
	case late != "":
		r.Shape, r.Late = "late", late
		return r, isLate
	case x.LastPoll == nil:
		r.Shape = "pending"
	}
	return r, works
}

// address is where a source is; what nobody told yet is left out.
func address(x report.Source) string {
	if text(x.Hostname) == "" {
		return text(x.BasePath)
	}
	return text(x.Protocol) + "://" + text(x.Hostname) + text(x.BasePath)
}

// every says when a source is polled, as far as its definition tells; an interval that
// it does not give is the configuration's.
func every(definition string) string {
	d, err := config.ParseDefinition(definition)
	switch {
	case err != nil || definition == "":
		return ""
	case d.Cron != "":
		return d.Cron
	case d.Interval > 0 && d.MaxInterval > d.Interval: // the longer, the longer nothing new comes
		return d.Interval.String() + " to " + d.MaxInterval.String()
	case d.Interval > 0:
		return d.Interval.String()
	}
	return ""
}

// nextTimes are the next five times of a source that is polled by its cron expression; when
// others are due follows from what only the members know.
func nextTimes(definition string, now time.Time) []time.Time {
	t, err := config.TimetableOf(definition, 0)
	if err != nil || t.Cron == nil {
		return nil
	}
	due, err := t.Next(now, 0, 1)
	if err != nil {
		return nil
	}
	times, err := t.Times(due, 0, 5)
	if err != nil {
		return nil
	}
	return times
}
