package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/order"
)

// replayOf is the page of one replay.
type replayOf struct {
	Lead    lead
	Row     replayRow
	What    string // what is chosen: files, or, from data, centres
	Compare string // the comparison; empty: it is no shadow
}

func (s *Site) replayAt(name string) string { return s.to("/replays/" + url.PathEscape(name)) }

// replayShape is the shape of how a replay stands.
func replayShape(x *replay.Status) string {
	switch {
	case x.State == control.ReplayStopped:
		return "cancelled"
	case x.State == control.ReplayRunning:
		return "running"
	case x.Failed+x.Refused > 0:
		return "late"
	}
	return "done"
}

func (s *Site) replayed(ctx context.Context, r *http.Request) (page, error) {
	if s.then != nil {
		return s.replaysThen(ctx, r.PathValue("id"))
	}
	if s.ReplayTold == nil {
		return page{}, errNotHere
	}
	x, err := s.ReplayTold(ctx, r.PathValue("id"))
	if errors.Is(err, control.ErrNoReplay) {
		err = errors.Join(report.ErrNotFound, err)
	}
	if err != nil {
		return page{}, err
	}
	number := strconv.FormatInt(x.Replay, 10)
	d := replayOf{Row: s.replayRow(ctx, x), What: "files"}
	if x.From == schemas.FromData {
		d.What = "centres"
	}
	if x.Shadow != "" && s.Shadows != nil {
		d.Compare = s.replayAt(number) + "/compare"
	}
	d.Lead = replayLead(x)
	return page{Title: "Replay " + count(x.Replay), At: "/replays", Template: "replay", Data: d, Offers: d.Row.Offers, Command: "tributary replay show " + number}, nil
}

// replayRow is a replay with what may be ordered about it.
func (s *Site) replayRow(ctx context.Context, x *replay.Status) replayRow {
	number := strconv.FormatInt(x.Replay, 10)
	return replayRow{x, replayShape(x), s.replayAt(number), s.offers(ctx, order.Replays, number, order.ReplayStanding(x))}
}

// replayLead says how a replay stands.
func replayLead(x *replay.Status) lead {
	name := "Replay " + count(x.Replay)
	if x.Shadow != "" {
		name = "The shadow " + shown(x.Shadow)
	}
	switch {
	case x.State == control.ReplayStopped:
		return lead{"cancelled", fmt.Sprintf("%s is stopped, with %s waiting.", name, count(x.Waiting)), ""}
	case x.State == control.ReplayRunning:
		return lead{"running", fmt.Sprintf("%s is under way: %s of %s have ended.", name, count(x.Complete+x.Failed+x.Refused), count(x.Items)), ""}
	case x.PromotedBy > 0:
		return lead{"done", fmt.Sprintf("%s was made live by replay %s.", name, count(x.PromotedBy)), ""}
	case x.Failed+x.Refused > 0:
		return lead{"late", fmt.Sprintf("%s is done: %s complete, %s failed, %s refused.", name, count(x.Complete), count(x.Failed), count(x.Refused)), "#ends"}
	case x.Shadow != "":
		return lead{"done", name + " is done: nothing of it is live. Compare it, then promote it or leave it.", ""}
	}
	return lead{"done", name + " is done: all of its files are complete.", ""}
}
