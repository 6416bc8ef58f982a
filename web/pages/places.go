package pages

import (
	"context"
	"time"

	"tributary/queries/report"
	"tributary/web/access"
)

// places are a group of the side list.
type places struct {
	Name  string
	Pages []place
}

// place is a page in the side list, with how many it shows.
type place struct {
	Address, Name string
	Current       bool
	Count         string // empty: that is not said
	Says          string // what is counted, beside the name
	ToAct         bool   // somebody has to act on what is counted
}

// countedFor is how long a page waits for the counts of the side list, which it has done
// without before.
const countedFor = 2 * time.Second

// places are the side list of a page, for who asks.
func (s *Site) places(ctx context.Context, at string, counted bool) []places {
	out := []places{
		{"Now", []place{{Address: "/", Name: "Now"}, {Address: "/files", Name: "Files"}, {Address: "/documents", Name: "Documents"}, {Address: "/tail", Name: "Events"}}},
		{"Where from", []place{{Address: "/sources", Name: "Sources", Says: "to act on", ToAct: true}, {Address: "/centres", Name: "Centres"}, {Address: "/sessions", Name: "Sessions"}}},
		{"To do", []place{{Address: "/dead-letters", Name: "Dead letters"}, {Address: "/replays", Name: "Replays", Says: "under way"}, {Address: "/findings", Name: "Findings"}, {Address: "/quality", Name: "Quality control"}}},
		{"Ask", []place{{Address: "/diff", Name: "Changes"}, {Address: "/analytics", Name: "Analytics"}, {Address: "/lineage", Name: "Lineage"}, {Address: "/sql", Name: "SQL"}}},
	}
	ask := &out[len(out)-1]
	if s.Past != nil {
		out[0].Pages = append(out[0].Pages, place{Address: "/notices", Name: "Notices"})
	}
	if s.Why != nil {
		ask.Pages = append(ask.Pages, place{Address: "/why", Name: "Why"})
	}
	if s.Control != nil {
		ask.Pages = append(ask.Pages, place{Address: "/questions", Name: "Questions"})
	}
	if access.From(ctx).Role >= access.Wrangler {
		ask.Pages = append(ask.Pages, place{Address: "/audit", Name: "Audit log"})
	}
	var counts map[string]int64
	if counted {
		counts = s.counts(ctx)
	}
	for i := range out {
		for j := range out[i].Pages {
			p := &out[i].Pages[j]
			p.Current = p.Address == at
			if n := counts[p.Address]; n > 0 {
				p.Count = brief(n)
			}
		}
	}
	return out
}

// counts are how many the pages of the side list show, by address: one statement, of the
// tracker. Of the past they are not said, nor where the tracker does not answer.
func (s *Site) counts(ctx context.Context) map[string]int64 {
	if s.then != nil || s.Tracker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countedFor)
	defer cancel()
	t, err := report.ReadTotals(ctx, s.Tracker)
	if err != nil {
		s.Log.Debug("a page goes without counts beside the names of pages", "error", err)
		return nil
	}
	return map[string]int64{"/files": t.Files, "/documents": t.Documents, "/centres": t.Centres, "/sources": t.Sources, "/replays": t.Replays}
}
