package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tributary/queries/report"
)

// part is a part of a list that goes on by time or by a key.
type part[T any] struct {
	Rows []T    `json:"rows"`
	Next string `json:"next,omitempty" doc:"what the part after this one is asked for with; it is absent where this is the last"`
}

// parted makes a part of at most limit rows, of which one more was read.
func parted[T any](rows []T, limit int, next func(T) string) part[T] {
	p := part[T]{Rows: rows}
	if len(rows) > limit {
		p.Rows = rows[:limit]
		p.Next = next(p.Rows[limit-1])
	}
	return p
}

// moment is a time as the lists' cursors have it.
func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// sessions registers what is asked about rounds of polling.
func (a *API) sessions() {
	type list struct {
		Momentary
		Before time.Time `query:"before" doc:"opened before this moment (RFC 3339), as next of the part before says"`
		Limit  int       `query:"limit" default:"50" minimum:"1" maximum:"1000" doc:"how many rows at most"`
	}
	getAt(a, "/sessions", "listSessions", "Rounds of polling and what followed from each, the newest first", ofAll[list], func(ctx context.Context, t tracked, in *list) (part[report.Session], error) {
		if err := readable(in.Before); err != nil {
			return part[report.Session]{}, err
		}
		rows, err := report.Sessions(ctx, t.Querier, in.Before, in.Limit+1)
		return parted(rows, in.Limit, func(s report.Session) string { return moment(s.Opened) }), err
	})
	type one struct {
		Momentary
		Number int64 `path:"number" doc:"the session's number"`
	}
	getAt(a, "/sessions/{number}", "getSession", "What one session did in each phase, and how its polls ended", ofAll[one], func(ctx context.Context, t tracked, in *one) (report.SessionStory, error) {
		s, err := report.TellSession(ctx, t.Querier, in.Number)
		if errors.Is(err, report.ErrNotFound) {
			err = notFound("session", fmt.Sprintf("The tracker knows no session %d.", in.Number))
		}
		for i := range s.PollList {
			countsAsObject(&s.PollList[i])
		}
		return s, err
	})
}

// countsAsObject has a poll's counts be an object also where nobody counted.
func countsAsObject(p *report.Poll) {
	if p.Counts == nil {
		p.Counts = map[string]string{}
	}
}

// readable refuses a moment that Postgres does not have.
func readable(t time.Time) error {
	if t.Year() < 1 || t.Year() > 9999 {
		return &refusal{"bad_filter", http.StatusBadRequest, "before: give a time as 2006-01-02T15:04:05Z"}
	}
	return nil
}
