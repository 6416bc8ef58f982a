package donewith

import (
	"context"
	"fmt"
	"strconv"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// Stand is what becomes at a source of files that are inserted.
type Stand struct {
	Rule    string              `json:"rule"`
	Seen    string              `json:"seen"`   // what an order to act can be tied to: the rule, and the url
	Acting  bool                `json:"acting"` // else it is only shown what would be done
	Ordered string              `json:"ordered,omitempty"`
	Files   []control.DoneCount `json:"files"`
}

// StandOf is that of a source; nil where it defines nothing.
func StandOf(ctx context.Context, q pg.Querier, s control.Standing) (*Stand, error) {
	rule, acting := Acting(s)
	if rule == "" {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	d := &Stand{Rule: rule, Seen: namedAt(rule, s.URL), Acting: acting}
	if acting {
		d.Ordered = s.ActsSaid
	}
	var err error
	d.Files, err = control.DoneCounts(ctx, q, s.ID)
	return d, err
}

// Number says to people how many files are counted.
func Number(n control.DoneCount) string {
	if n.More {
		return fmt.Sprintf("%d or more", n.Files)
	}
	return strconv.FormatInt(n.Files, 10)
}

// Words say to people how files stand that are counted.
func Words(n control.DoneCount) string {
	words := map[string]string{control.DoneDue: "to be looked at", control.DoneActing: "begun", control.DoneShown: "would be done", control.DoneLeft: "left alone", control.DoneDone: "done"}[n.State]
	if n.Exception != "" {
		words += ", " + n.Exception
	}
	return words
}
