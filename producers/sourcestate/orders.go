package sourcestate

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Outcome is what became of one source about which a person has ordered something.
type Outcome struct {
	Source string
	Done   bool
	Detail string
	// Seen says what the order was looked at for, where it can be tied to that.
	Seen string
}

// decision is what an order makes of a source: how it stands then, or why nothing
// is done.
type decision struct {
	next   control.Standing
	due    bool // at once
	detail string
	refuse bool
}

// Resume makes sources that are suspended or in maintenance available again and due
// at once; without ids all that are suspended. It returns what became of those that
// were named, or were resumed. The cause says who asks for it, and why.
func Resume(ctx context.Context, tx pgx.Tx, out outbox.Outbox, ids []string, cause Cause, now time.Time) ([]Outcome, error) {
	return order(ctx, tx, out, ids, cause, now, func(s control.Standing) decision {
		maintained := s.State == control.SourceMaintenance && len(ids) > 0
		if s.State != control.SourceSuspended && !maintained {
			return decision{refuse: true, detail: "it was not suspended, nor in maintenance: it is " + s.State}
		}
		return decision{next: Rested(s, control.SourceAvailable), due: true, detail: "it is available, and due at once"}
	})
}

// MaintainUntil has sources left alone until they are resumed, or until some time, at
// which schedule makes them available again; nil: without one. Nothing is listed there,
// and nothing fetched from it. Those in maintenance get another end.
func MaintainUntil(until *time.Time) func(context.Context, pgx.Tx, outbox.Outbox, []string, Cause, time.Time) ([]Outcome, error) {
	return func(ctx context.Context, tx pgx.Tx, out outbox.Outbox, ids []string, cause Cause, now time.Time) ([]Outcome, error) {
		return order(ctx, tx, out, ids, cause, now, func(s control.Standing) decision {
			if s.State == control.SourceMaintenance && sameEnd(s.MaintainedUntil, until) {
				return decision{refuse: true, detail: "it is in " + s.State + " already"}
			}
			d := decision{next: Rested(s, control.SourceMaintenance), detail: "it is left alone until it is resumed: tributary sources resume " + s.ID}
			if d.next.MaintainedUntil = until; until != nil {
				d.detail = "it is left alone until " + until.UTC().Format(time.RFC3339) + ", or until it is resumed: tributary sources resume " + s.ID
			}
			return d
		})
	}
}

func sameEnd(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// Poll makes sources due at once: a suspended one is probed. Their windows are kept.
func Poll(ctx context.Context, tx pgx.Tx, out outbox.Outbox, ids []string, cause Cause, now time.Time) ([]Outcome, error) {
	return order(ctx, tx, out, ids, cause, now, func(s control.Standing) decision {
		switch {
		case s.State == control.SourceMaintenance:
			return decision{refuse: true, detail: "it is in maintenance, where nobody lists it: tributary sources resume " + s.ID}
		case s.Polled:
			return decision{refuse: true, detail: "it is being polled, or waits for its turn"}
		case s.Closed(now):
			return decision{next: s, due: true, detail: "it is outside of its window, and due when that opens, at " + s.Opens.UTC().Format(time.RFC3339)}
		case s.State == control.SourceSuspended:
			return decision{next: s, due: true, detail: "it is suspended, and probed at once"}
		}
		return decision{next: s, due: true, detail: "it is due at once"}
	})
}

// Rested is how a source stands in a state that a person gives it: what its polls
// have made of it is forgotten.
func Rested(s control.Standing, state string) control.Standing {
	s.State, s.FailedPolls, s.FailingSince, s.FailedClasses, s.SuspendedAt, s.SuspendedWhy, s.MaintainedUntil = state, 0, nil, nil, nil, "", nil
	return s
}

// order does what is decided about the named sources, or about all for which
// something is decided where none is named, each with an event.
func order(ctx context.Context, tx pgx.Tx, out outbox.Outbox, ids []string, cause Cause, now time.Time, decide func(control.Standing) decision) ([]Outcome, error) {
	all, err := control.Standings(ctx, tx, ids...)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, 0, len(all))
	var asked []string
	for _, s := range all {
		d := decide(s)
		if s.State == control.SourceRemoved {
			d = decision{refuse: true, detail: "it is no longer configured"}
		}
		if d.refuse && len(ids) == 0 {
			continue
		}
		o := Outcome{Source: s.ID, Done: !d.refuse, Detail: d.detail}
		if o.Done {
			if o.Done, err = carryOut(ctx, tx, out, s, d, cause, now); err != nil {
				return nil, err
			}
			if !o.Done {
				o.Detail = "a poll has changed its state meanwhile: look at it, and say it again"
			} else if d.due {
				asked = append(asked, s.Server)
			}
		}
		outcomes = append(outcomes, o)
	}
	// Last, since whoever writes both writes sources first.
	return append(outcomes, unknown(ids, all)...), control.AskAgain(ctx, tx, asked)
}

// carryOut stores what is decided about a source. Done is false where its state has
// changed meanwhile.
func carryOut(ctx context.Context, tx pgx.Tx, out outbox.Outbox, s control.Standing, d decision, cause Cause, now time.Time) (done bool, err error) {
	due := time.Time{}
	if d.due {
		due = now
	}
	done, err = put(ctx, tx, out, d.next, s.State, due, cause, now)
	if err != nil || !done || !d.due {
		return done, err
	}
	// What a person asks for is a complete poll.
	if err := control.ForgetDirectories(ctx, tx, s.ID); err != nil {
		return false, err
	}
	return true, control.SetDue(ctx, tx, s.ID, now)
}

// unknown are the outcomes of named sources that control doesn't know.
func unknown(ids []string, all []control.Standing) (out []Outcome) {
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(s control.Standing) bool { return s.ID == id }) {
			out = append(out, Outcome{Source: id, Done: false, Detail: "it was never polled: nothing has started with it in the configuration yet"})
		}
	}
	return out
}
