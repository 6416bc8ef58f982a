package own

import (
	"context"
	"time"

	"tributary/internal/pg"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/schemas/exception"
)

// Server is one that the centre runs, and how it does.
type Server struct {
	Name   string     `json:"name"`
	Status string     `json:"status" doc:"done, failed, late or pending"`
	Says   string     `json:"says" doc:"in plain words, a whole sentence"`
	Seen   *time.Time `json:"seen" doc:"when it was looked at last"`
	Last   *time.Time `json:"last" doc:"when it last showed anything new"`
	Next   *time.Time `json:"next" doc:"when something new is expected; null: not known"`
}

// mostServers is how many a centre is told of.
const mostServers = 20

// Servers are those that the centre runs, and that were not removed, by name.
func (v View) Servers(ctx context.Context) ([]Server, error) {
	names, err := v.servers(ctx)
	if err != nil {
		return nil, err
	}
	out := []Server{}
	for _, name := range names[:min(len(names), mostServers)] {
		source, _, err := report.FindSource(ctx, v.Tracker, name)
		if err != nil {
			return nil, err
		}
		if pg.Value(source.State) == "removed" {
			continue
		}
		s := Server{Name: name, Seen: source.LastPoll}
		if err := expect.Sources(ctx, v.Tracker, name, func(e expect.Expectation) error {
			s.judge(source, e)
			return nil
		}); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *Server) judge(is report.Source, e expect.Expectation) {
	s.Last, s.Next = e.Last, e.Next
	switch {
	case pg.Value(is.State) == "maintenance":
		s.Status, s.Says = "pending", "The data centre does not look at it at present, on purpose."
	case pg.Value(is.Exception) != "" && pg.Value(is.Poll) == "failed", pg.Value(is.State) == "suspended":
		s.Status, s.Says = "failed", "It can't be read: nothing comes from there until that is mended."
		if e, known := exception.Find(pg.Value(is.Exception)); known {
			s.Says = sentence(e.Happened) + " Nothing comes from there until that is mended."
		}
	case is.LastPoll == nil:
		s.Status, s.Says = "pending", "It has not been looked at yet."
	default:
		s.Status, s.Says = "done", "It answers."
		for _, f := range e.Findings {
			switch f.Finding {
			case expect.Late:
				s.Status, s.Says = "late", "It answers, but nothing new has come for much longer than usual: did your export run?"
			case expect.Short:
				s.Status, s.Says = "late", "It answers, but what came last is much less than usual: is something missing?"
			}
		}
	}
}
