package pages

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tributary/queries/report"
	"tributary/schemas"
)

// sessionsShown is how many sessions a page lists.
const sessionsShown = 50

// sessions are a page of the list of sessions.
type sessions struct {
	Lead  lead
	Rows  []sessionRow
	Older string // the page of those opened before; empty: there are none
}

// sessionRow is a session as lists show it.
type sessionRow struct {
	report.Session
	Name                     string // its number; empty: not known yet
	To, FilesTo, DocumentsTo string
	Status                   string
	Took                     string // until now while it is open
}

func newSessionRow(s *Site, x report.Session, now time.Time) sessionRow {
	r := sessionRow{Session: x, Status: map[string]string{"open": "running", "done": "done", "failed": "failed"}[x.State]}
	if x.Number != nil {
		number := strconv.FormatInt(*x.Number, 10)
		r.Name, r.To = count(*x.Number), s.to("/sessions/"+number)
		r.FilesTo, r.DocumentsTo = s.to("/files", "session", number), s.to("/documents", "session", number)
	}
	if x.Opened != nil {
		end := now
		if x.Closed != nil {
			end = *x.Closed
		}
		r.Took = age(end.Sub(*x.Opened))
	}
	return r
}

func (s *Site) sessions(ctx context.Context, r *http.Request) (page, error) {
	before, err := moment(r, "before")
	if err != nil {
		return page{}, err
	}
	all, err := report.Sessions(ctx, s.Tracker, before, sessionsShown+1)
	if err != nil {
		return page{}, err
	}
	d := sessions{}
	if len(all) > sessionsShown {
		all = all[:sessionsShown]
		d.Older = s.to("/sessions", "before", all[sessionsShown-1].Opened.UTC().Format(time.RFC3339Nano))
	}
	for _, x := range all {
		d.Rows = append(d.Rows, newSessionRow(s, x, s.Now()))
	}
	switch {
	case len(d.Rows) == 0 && before.IsZero():
		d.Lead = lead{"pending", "No session has been opened yet.", ""}
	case len(d.Rows) == 0 || !before.IsZero():
		d.Lead = lead{"pending", "Sessions opened before " + before.UTC().Format("2 Jan 2006, 15:04:05 UTC") + ".", ""}
	default:
		d.Lead = sessionLead(d.Rows[0])
	}
	return page{Title: "Sessions", At: "/sessions", Template: "sessions", Data: d, Command: "tributary sql 'SELECT * FROM tracker.session ORDER BY start_time DESC LIMIT 50'"}, nil
}

// sessionLead says how a session stands.
func sessionLead(r sessionRow) lead {
	name := "Session " + r.Name
	switch {
	case r.State == "open":
		return lead{"running", name + " has been open for " + r.Took + ".", r.To}
	case r.State == "failed" && r.FailedPhase != nil:
		return lead{"failed", fmt.Sprintf("%s took %s; something failed in %s.", name, r.Took, *r.FailedPhase), r.To}
	case r.State == "failed":
		return lead{"failed", name + " took " + r.Took + "; something failed.", r.To}
	}
	return lead{"done", name + " took " + r.Took + ", and all went well.", r.To}
}

// session is the page of one session.
type session struct {
	Lead  lead
	Row   sessionRow
	Tasks []sessionTask
	Polls []report.Poll
}

// sessionTask is what a session did in one phase.
type sessionTask struct {
	report.SessionTask

	To string // what has failed there, and still does
}

func (s *Site) sessionTasks(number int64, all []report.SessionTask) (out []sessionTask) {
	for _, x := range all {
		to := "#polls" // which are the tasks of the first phase
		if phase := schemas.Phase(x.Phase); phase != schemas.ZipName {
			list := "/files"
			if phase.ID() >= schemas.XMLName.ID() {
				list = "/documents"
			}
			to = s.to(list, "session", strconv.FormatInt(number, 10), "phase", x.Phase, "status", string(schemas.Failed))
		}
		out = append(out, sessionTask{x, to})
	}
	return out
}

func (s *Site) session(ctx context.Context, r *http.Request) (page, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return page{}, fmt.Errorf("%w: a session is named by its number", errBadFilter)
	}
	story, err := report.TellSession(ctx, s.Tracker, number)
	if err != nil {
		return page{}, err
	}
	d := session{Row: newSessionRow(s, story.Session, s.Now()), Tasks: s.sessionTasks(number, story.Tasks), Polls: story.PollList}
	d.Lead = sessionLead(d.Row)
	d.Lead.To = ""
	return page{Title: "Session " + d.Row.Name, At: "/sessions", Template: "session", Data: d, Command: fmt.Sprintf("tributary sql 'SELECT * FROM tracker.session WHERE number = %d'", number)}, nil
}
