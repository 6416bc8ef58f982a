package pages

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/exception"
)

const (
	// newestShown is how many files a centre's first page shows.
	newestShown = 10
	// namelessShown is how many names that can't be read it shows.
	namelessShown = 20
)

// ownHome is the first page of a centre, and ownWeek that of one of its weeks.
type ownHome struct {
	Centre   string // with its full name
	Lead     lead
	Parts    []string
	Correct  []ownCard // what the centre is to correct
	Others   []ownCard // what others see to
	ErrorsTo string
	SheetTo  string // the same as CSV
	Search   string
	FilesTo  string
	Files    []ownRow
	Nameless []ownRow
	Chart    ownChart
	Servers  []ownServer
	Weeks    []option
	Week     bool // it is one week's page
}

type ownServer struct {
	own.Server

	When []string
}

func (s *Site) ownHome(ctx context.Context, at ownAt, _ *http.Request) (ownPage, error) {
	var week own.Summary
	var troubles []own.Trouble
	var is report.CentreStanding
	var files report.Page[report.File]
	var nameless []report.File
	if err := pg.Together(ctx, at.Tracker, pg.Into(&week, at.Last), pg.Into(&troubles, at.Troubles), pg.Into(&is, at.Standing),
		pg.Into(&files, func(ctx context.Context) (report.Page[report.File], error) {
			return at.Files(ctx, report.Filter{Sort: report.Newest, Limit: newestShown})
		}),
		pg.Into(&nameless, func(ctx context.Context) ([]report.File, error) { return at.Nameless(ctx, namelessShown) }),
	); err != nil {
		return ownPage{}, err
	}
	d := ownHome{Centre: at.Centre, Parts: week.Parts(), Search: at.to("/files"), FilesTo: at.to("/files"), ErrorsTo: at.to("/documents", "status", "failed"), SheetTo: at.to("/errors.csv"), Chart: newOwnChart(week), Servers: s.ownServers(week.Servers), Weeks: at.weeks("")}
	if name := text(is.FullName); name != "" {
		d.Centre = name + " · " + at.Centre
	}
	d.Lead = lead{Status: ownMood(week), Text: "In the last seven days: " + week.Title()}
	for _, x := range files.Rows {
		d.Files = append(d.Files, at.fileRow(x))
	}
	for _, x := range nameless {
		d.Nameless = append(d.Nameless, at.fileRow(x))
	}
	d.troubles(at, troubles, true)
	return ownPage{Title: at.Centre + ": your files", Template: "home", Data: d}, nil
}

func (s *Site) ownWeek(ctx context.Context, at ownAt, r *http.Request) (ownPage, error) {
	name := r.PathValue("week")
	monday, ok := own.ParseWeek(name, at.Now)
	if !ok {
		return ownPage{}, errNoPage
	}
	week, err := at.Of(ctx, monday)
	if err != nil {
		return ownPage{}, err
	}
	d := ownHome{Week: true, Centre: fmt.Sprintf("%s · %s to %s", at.Centre, week.From.Format("2 January"), week.Until.Add(-own.Day).Format("2 January 2006")), Parts: week.Parts(), Lead: lead{Status: ownMood(week), Text: week.Title()}, Chart: newOwnChart(week), Weeks: at.weeks(name)}
	d.troubles(at, week.Troubles, false)
	return ownPage{Title: at.Centre + ": week " + name, Template: "home", Data: d}, nil
}

// ownMood is the status whose shape a summary begins with.
func ownMood(week own.Summary) string {
	switch {
	case week.ToCorrect() > 0:
		return string(schemas.Failed)
	case week.Underway > 0:
		return string(schemas.Running)
	case week.Came == 0:
		return string(schemas.Pending)
	}
	return string(schemas.Done)
}

// troubles are shown as cards. Where they are those of now, their files are listed.
func (d *ownHome) troubles(at ownAt, all []own.Trouble, now bool) {
	for _, t := range all {
		c := ownCard{Title: t.Title, Exception: t.Exception, Do: t.Do, Files: plural(int(t.Files), "file", "files")}
		if now && t.Failed > 0 {
			c.FilesTo = at.to("/files", "exception", t.Exception, "status", "failed")
		}
		if e := t.Example; e != nil {
			c.Where, c.To, c.Says = e.File, at.fileTo(e.Action, e.File), cut(e.Says)
			if e.Document != "" {
				c.Where, c.To = e.Document, at.fileTo(e.Action, e.File, "documents", e.Document)
			}
			if e.Line != nil {
				c.Place = fmt.Sprintf("line %d", *e.Line)
			}
		}
		if t.Move == exception.Centre {
			d.Correct = append(d.Correct, c)
		} else {
			d.Others = append(d.Others, c)
		}
	}
}

func (s *Site) ownServers(all []own.Server) (out []ownServer) {
	for _, x := range all {
		server := ownServer{Server: x}
		for _, w := range []struct {
			says string
			at   *time.Time
		}{{"last looked at", x.Seen}, {"last new file", x.Last}, {"next expected about", x.Next}} {
			if w.at != nil {
				server.When = append(server.When, w.says+" "+s.full(*w.at))
			}
		}
		out = append(out, server)
	}
	return out
}

// weeks are those of which there is a summary, the newest first.
func (at ownAt) weeks(chosen string) (out []option) {
	for i := range own.Weeks + 1 {
		name := own.Name(own.Monday(at.Now).Add(-time.Duration(i) * own.Week))
		out = append(out, option{Name: name, To: at.to("/weeks/" + name), Chosen: name == chosen})
	}
	return out
}

// ownChart is what came day by day.
type ownChart struct {
	Label string
	Bars  []ownBar
}

// ownBar is one day: two bars, and what they are called.
type ownBar struct {
	Day                          string
	Came, Failed                 int64
	X, FailedX, Middle, FailedAt int
	Y, Height, FailedY, FailedH  int
	CameText, FailedText         int // where the numbers stand
}

// newOwnChart draws the days of a week, from 120 up.
func newOwnChart(week own.Summary) ownChart {
	most := int64(1)
	for _, c := range week.Days {
		most = max(most, c.Came)
	}
	height := func(n int64) int {
		if n == 0 {
			return 0
		}
		return max(1, int(88*n/most))
	}
	var says []string
	c := ownChart{}
	for i, d := range week.Days {
		b := ownBar{Day: d.Day.Format("2 Jan"), Came: d.Came, Failed: d.Failed, X: 60 + 108*i, FailedX: 98 + 108*i, Middle: 78 + 108*i, FailedAt: 105 + 108*i, Height: height(d.Came), FailedH: height(d.Failed)}
		b.Y, b.FailedY = 120-b.Height, 120-b.FailedH
		b.CameText, b.FailedText = b.Y-6, b.FailedY-6
		c.Bars = append(c.Bars, b)
		says = append(says, fmt.Sprintf("%s %d, failed %d", b.Day, d.Came, d.Failed))
	}
	c.Label = "Files that came by day: " + strings.Join(says, "; ")
	return c
}
