package pages

import (
	"context"
	"fmt"
	"net/http"

	"tributary/recovery/deadletter"
	"tributary/web/order"
)

// lettersShown is how many dead letters, or replays, a page lists.
const lettersShown = 100

// letters are the page of dead letters.
type letters struct {
	Lead  lead
	Rows  []letterRow
	All   bool   // the dropped ones too
	Other string // the page with the others
	Full  bool   // there may be more
}

// letterRow is a dead letter as the list shows it.
type letterRow struct {
	deadletter.Row
	Status string
	File   string // action and name; empty where it is about none
	To     string // the file
	Offers []offer
}

func (s *Site) letters(ctx context.Context, r *http.Request) (page, error) {
	if s.then != nil {
		return s.lettersThen(ctx)
	}
	d := letters{All: r.URL.Query().Get("all") == "true", Other: s.to("/dead-letters", "all", "true")}
	p := page{Title: "Dead letters", At: "/dead-letters", Template: "letters", Command: "tributary dlq list"}
	if d.All {
		d.Other, p.Command = s.to("/dead-letters"), "tributary dlq list --all"
	}
	if s.Letters == nil {
		return page{}, errNotHere
	}
	open := 0
	if err := s.Letters(ctx, lettersShown, d.All, func(l deadletter.Row) error {
		row := newLetterRow(s, l)
		row.Offers = possible(s.offers(ctx, order.DeadLetters, l.ID, l.State))
		if l.State == deadletter.Open {
			open++
		}
		d.Rows = append(d.Rows, row)
		return nil
	}); err != nil {
		return page{}, err
	}
	d.Full = len(d.Rows) == lettersShown
	switch {
	case open > 0:
		d.Lead = lead{"failed", fmt.Sprintf("%s for somebody here.", plural(open, "dead letter waits", "dead letters wait")), ""}
	case len(d.Rows) > 0:
		d.Lead = lead{"done", "Somebody has decided about every dead letter.", ""}
	default:
		d.Lead = lead{"done", "There is no dead letter.", ""}
	}
	p.Data = d
	return p, nil
}

func newLetterRow(s *Site, l deadletter.Row) letterRow {
	r := letterRow{Row: l, Status: "pending"}
	switch l.State {
	case deadletter.Open, "failed", "died_again", deadletter.Unreadable:
		r.Status = "failed"
	case "completed":
		r.Status = "done"
	case "under_way":
		r.Status = "running"
	case "dropped":
		r.Status = "cancelled"
	}
	if l.File != "" {
		r.File = l.Action + "/" + l.File
		r.To = s.fileTo(l.Action, l.File)
	}
	return r
}
