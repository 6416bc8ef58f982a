package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"tributary/recovery/replay"
	"tributary/sql/control"
)

// errNotHere says that a page needs what this process does not have.
var errNotHere = errors.New("this process can't read that: it has no connection to where it lies")

// replays are the page of replays.
type replays struct {
	Lead lead
	Rows []replayRow
	Full bool // there may be more
}

// replayRow is a replay as the list shows it.
type replayRow struct {
	*replay.Status
	Shape  string
	To     string
	Offers []offer
}

func (s *Site) replays(ctx context.Context, _ *http.Request) (page, error) {
	if s.then != nil {
		return s.replaysThen(ctx, "")
	}
	if s.Replays == nil {
		return page{}, errNotHere
	}
	all, err := s.Replays(ctx, lettersShown)
	if err != nil {
		return page{}, err
	}
	d := replays{Full: len(all) == lettersShown}
	under := 0
	for _, x := range all {
		row := s.replayRow(ctx, x)
		row.Offers = possible(row.Offers)
		if x.State == control.ReplayRunning {
			under++
		}
		d.Rows = append(d.Rows, row)
	}
	switch {
	case under > 0:
		d.Lead = lead{"running", fmt.Sprintf("%s under way.", plural(under, "replay is", "replays are")), ""}
	case len(all) > 0:
		d.Lead = lead{"done", "No replay is under way.", ""}
	default:
		d.Lead = lead{"pending", "Nothing has been replayed yet.", ""}
	}
	return page{Offers: s.replayOffer(ctx, "New replay", ""), Title: "Replays", At: "/replays", Template: "replays", Data: d, Command: "tributary replay list"}, nil
}
