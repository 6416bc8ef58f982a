package tracker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tributary/schemas"
)

// replay is a run that processes again what somebody chose.
type replay struct {
	seen
	Number   int64             `json:"k"`
	Asked    map[string]string `json:"a,omitempty"` // what was asked for, and by whom
	AskedAt  time.Time         `json:"ta,omitzero"`
	Items    int64             `json:"i,omitempty"`
	Revision int64             `json:"r,omitempty"` // of the last change
	Status   int               `json:"s,omitempty"`
	By       string            `json:"b,omitempty"`
	Why      string            `json:"w,omitempty"`
	At       time.Time         `json:"tc,omitzero"`
}

func (r *replay) add(o *replay) {
	r.seen.add(o.seen)
	r.Number, r.Items = max(r.Number, o.Number), max(r.Items, o.Items)
	if len(o.Asked) > 0 && (len(r.Asked) == 0 || (&announced{Attributes: r.Asked}).text() < (&announced{Attributes: o.Asked}).text()) {
		r.Asked = maps.Clone(o.Asked)
	}
	r.AskedAt = earliest(r.AskedAt, o.AskedAt)
	if cmp.Or(cmp.Compare(r.Revision, o.Revision), r.At.Compare(o.At), cmp.Compare(r.Status, o.Status), cmp.Compare(r.By, o.By), cmp.Compare(r.Why, o.Why)) < 0 {
		r.Revision, r.At, r.Status, r.By, r.Why = o.Revision, o.At, o.Status, o.By, o.Why
	}
}

// replay adds what is said of a replay as a whole.
func (f *fold) replay(e *schemas.StatusChanged, s seen) error {
	if e.Run == "" {
		return fmt.Errorf("an event about a replay names no run")
	}
	r := &replay{seen: s, Number: e.Number, Revision: e.Revision, Status: schemas.Status(e.Status).ID(), By: e.Attributes["by"], Why: e.Attributes["reason"], At: s.Last}
	if e.Note == schemas.ReplayRequested {
		r.Asked, r.AskedAt, r.Items = e.Attributes, s.Last, e.Rows
	}
	into(f.replays, given("run", e.Run), r)
	return nil
}

func (f *fold) writeReplays(ctx context.Context, s *store) error {
	return writeStates(ctx, s, "replay", f.replays, func(id uuid.UUID, r *replay, text string) []any {
		a := r.Asked
		rate, _ := strconv.ParseFloat(a["rate"], 64) // what is no number is none
		return []any{[16]byte(id), r.Number, orNull(schemas.Phase(a["from"]).ID()), max(r.Status, pending), r.Items, orNull(a["where"]), momentOrNull(a["since"]),
			momentOrNull(a["until"]), orNull(a["offsets"]), orNull(rate), orNull(a["by"]), orNull(a["reason"]), timeOrNull(r.AskedAt),
			orNull(r.By), orNull(r.Why), r.At, orNull(a["shadow"]), idOrNull("run", a["promotes"]), r.First, r.Last, text}
	})
}

// momentOrNull is a time as events write it, null where the text is none.
func momentOrNull(s string) any {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil
	}
	return at(t)
}
