package pages

import (
	"strconv"
	"time"

	"tributary/queries/report"
)

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
