package pages

import (
	"context"
	"fmt"
	"strconv"

	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
)

// replaysThen are replays as they stood.
type replaysThen struct {
	Lead    lead
	Rows    []replayThen
	One     bool          // it is the page of one
	Full    bool          // there may be more
	Ordered []audit.Order // of one: what people had ordered of it, the newest first
}

type replayThen struct {
	replay.Then

	Shape, To string
}

// replaysThen is the page of all replays as they stood, or of one that is named.
func (s *Site) replaysThen(ctx context.Context, name string) (page, error) {
	all, err := replay.ReadThen(ctx, s.Tracker, name, lettersShown)
	if err != nil {
		return page{}, err
	}
	p, under := page{Title: "Replays", At: "/replays", Template: "replaysthen"}, 0
	d := replaysThen{One: name != "", Full: len(all) == lettersShown}
	for _, x := range all {
		if x.State == control.ReplayRunning {
			under++
		}
		d.Rows = append(d.Rows, replayThen{x, map[string]string{control.ReplayRunning: "running", control.ReplayStopped: "cancelled", control.ReplayDone: "done"}[x.State],
			s.replayAt(strconv.FormatInt(x.Replay, 10))})
	}
	switch {
	case d.One && len(all) != 1:
		return page{}, fmt.Errorf("replay %s: %w", shown(name), report.ErrNotFound)
	case d.One:
		x := d.Rows[0]
		p.Title = "Replay " + count(x.Replay)
		d.Lead = lead{x.Shape, p.Title + " was " + x.State + ".", ""}
		d.Ordered, err = s.orderedOf(ctx, schemas.EntityReplay, strconv.FormatInt(x.Replay, 10))
	case under > 0:
		d.Lead = lead{"running", fmt.Sprintf("%s under way.", plural(under, "replay was", "replays were")), ""}
	case len(all) > 0:
		d.Lead = lead{"done", "No replay was under way.", ""}
	default:
		d.Lead = lead{"pending", "Nothing had been replayed yet.", ""}
	}
	p.Data = d
	return p, err
}

// orderedOf is what people have ordered of a thing, the newest first; of none, all of its
// kind.
func (s *Site) orderedOf(ctx context.Context, kind, subject string) (out []audit.Order, err error) {
	found, err := audit.Reader{Tracker: s.Tracker}.Page(ctx, audit.Filter{Kind: kind, Contains: subject, Limit: lettersShown})
	for _, o := range found.Rows {
		if subject == "" || o.Subject == subject {
			o.What, o.Detail = cut(o.What), cut(o.Detail)
			if subject != "" {
				o.Subject = "" // which the page is about
			}
			out = append(out, o)
		}
	}
	return out, err
}
