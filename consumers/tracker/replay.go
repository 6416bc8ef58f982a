package tracker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tributary/internal/pg"
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
	return writeStates(ctx, s, "replay", f.replays, func(to *pg.Rows, id uuid.UUID, r *replay, text string) {
		a := r.Asked
		rate, _ := strconv.ParseFloat(a["rate"], 64) // what is no number is none
		to.Add("id", [16]byte(id), "number", r.Number, "phase_id", orNull(schemas.Phase(a["from"]).ID()), "status_id", max(r.Status, pending),
			"items", r.Items, "predicate", orNull(a["where"]), "since", momentOrNull(a["since"]), "until", momentOrNull(a["until"]),
			"offsets", orNull(a["offsets"]), "rate", orNull(rate), "requested_by", orNull(a["by"]), "reason", orNull(a["reason"]),
			"requested", timeOrNull(r.AskedAt), "changed_by", orNull(r.By), "change_reason", orNull(r.Why), "changed", r.At,
			"shadow", orNull(a["shadow"]), "promotes", idOrNull("run", a["promotes"]), "created", r.First, "last_update", r.Last, "merge", text)
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
