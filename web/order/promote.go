package order

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/sql/control"
	"tributary/web/access"
)

// Promotable is how a shadow stands that is done and was not promoted.
const Promotable = "promotable"

// ReplayStanding is how a replay stands, for what may be ordered about it.
func ReplayStanding(r *replay.Status) string {
	if r.Shadow != "" && r.State == control.ReplayDone && r.PromotedBy == 0 {
		return Promotable
	}
	return r.State
}

// promote is the order that makes a shadow's results live.
func promote(d Deps) Order {
	return Order{
		On: Replays, Name: "promote", Verb: "Promote shadow", Least: access.Wrangler, Why: true, Confirmed: true, Takes: replay.Timeout,
		About:   "The work is done again, live, of exactly the files in which the comparison finds a change, and its results replace the live ones in order. A shadow is promoted once, and as it was compared: set profile to what shadow_profile was, and restart the members, before.",
		Offered: func(standing string) bool { return standing == Promotable }, Otherwise: "only a shadow is promoted that is done, and once",
		Command: func(a Asked) string { return "tributary replay promote " + quoted(a.Subject) },
		give: func(ctx context.Context, a Asked) (out Outcome, err error) {
			if d.Shadows == nil || d.Run == nil {
				return out, ErrNotHere
			}
			err = d.Shadows.With(ctx, true, func(c *shadow.Comparer) error {
				p := replay.Promoter{Comparer: c, Tracker: d.Tracker, Manager: &replay.Manager{Pool: d.Control, Outbox: d.Outbox, Now: func() time.Time { return a.At }}}
				if a.Dry {
					would, counts, err := p.Try(ctx, a.Subject)
					if err == nil {
						out = Outcome{Subject: a.Subject, Done: true, Detail: promoted(would, &counts)}
					}
					return err
				}
				r, err := d.Run(false)
				if err != nil {
					return err
				}
				r.By, r.Reason = a.By, a.Reason
				asked, err := p.Promote(ctx, a.Subject, r)
				if err == nil {
					out = Outcome{Subject: a.Subject, Done: true, Detail: fmt.Sprintf("replay %d is asked for: %s", asked.Replay, promoted(asked, nil))}
				}
				return err
			})
			if replay.NotPromoted(err) {
				return Outcome{Subject: a.Subject, Done: false, Detail: err.Error()}, nil
			}
			return out, err
		},
	}
}

// promoted says what a promotion does, and what would become of the shadow's documents.
func promoted(r replay.Requested, counts *shadow.Counts) string {
	text := fmt.Sprintf("of %s, %d files with %d documents are processed again from %s", strings.Join(r.Centres, ", "), r.Files, r.Documents, r.From)
	if counts == nil {
		return text
	}
	return text + fmt.Sprintf("; of the documents that were compared, %d are newly valid, %d newly refused, %d refused otherwise, and of %d the rows differ; %d stay as they are",
		counts.NewlyValid, counts.NewlyRefused, counts.RefusedOtherwise, counts.RowsDiffer, counts.Unchanged)
}
