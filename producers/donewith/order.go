package donewith

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/sql/control"
)

// ErrChanged is matched by the error of an order to do something else than what the
// source defines by now.
var ErrChanged = errors.New("definition_changed")

// Wish is an order about what a source defines as done_with.
type Wish struct {
	Act bool // else it is only shown from now on what would be done
	// Seen is what somebody has looked at who wants it done: what is to be done, and where,
	// as [Stand] and the outcome of a tried order say it. Where the source defines
	// something else by now, nothing is ordered, and the error matches [ErrChanged]. Empty:
	// whatever it defines.
	Seen string
}

// errDry ends a transaction that was only tried.
var errDry = errors.New("nothing is stored")

// Order has what the named sources define as done_with done from now on, or only shown
// again, each in a transaction with its event. Where it is only tried, nothing is stored.
func Order(ctx context.Context, o sourcestate.Orders, w Wish, ids ...string) (outcomes []sourcestate.Outcome, err error) {
	for _, id := range ids {
		var one sourcestate.Outcome
		if err := pg.InTx(ctx, o.Pool, func(tx pgx.Tx) error {
			if one, err = order(ctx, tx, o, w, id); err == nil && o.Dry {
				return errDry
			}
			return err
		}); err != nil && !errors.Is(err, errDry) {
			return nil, err
		}
		outcomes = append(outcomes, one)
	}
	return outcomes, nil
}

func order(ctx context.Context, tx pgx.Tx, o sourcestate.Orders, w Wish, id string) (sourcestate.Outcome, error) {
	// First, since who changes a source draws the revision before its row is locked.
	revision, err := control.NextCount(ctx, tx, "revision")
	if err != nil {
		return sourcestate.Outcome{}, err
	}
	s, err := control.LockSource(ctx, tx, id)
	if err != nil {
		return sourcestate.Outcome{}, err
	}
	refused := func(detail string) (sourcestate.Outcome, error) {
		return sourcestate.Outcome{Source: id, Detail: detail}, nil
	}
	if s == nil || s.State == control.SourceRemoved {
		return refused("it is not configured")
	}
	rule, acts, err := ruleOf(*s)
	switch {
	case err != nil:
		return refused(err.Error())
	case acts == "":
		return refused("it defines no done_with: there is nothing to do there")
	case w.Act && w.Seen != "" && w.Seen != acts:
		return sourcestate.Outcome{}, fmt.Errorf("%w: %s was defined otherwise meanwhile: what was looked at is %q, and now it is %q: look at that, and order it", ErrChanged, id, w.Seen, acts)
	case w.Act == (s.Acts == acts):
		return refused(map[bool]string{true: "it is acted there already", false: "it is only shown there already"}[w.Act])
	}
	waiting, err := waitingAt(ctx, tx, id)
	if err != nil {
		return sourcestate.Outcome{}, err
	}
	is := acts
	done, detail := "to act on done_with: "+rule.String(), fmt.Sprintf("from now on it is done with each file of which all is inserted: %s; files that wait for it now: %s", acts, waiting)
	if !w.Act {
		acts, done, detail = "", "to act no more on done_with: "+rule.String(), "from now on it is only shown what would be done ("+rule.String()+"); what has been done stays"
	}
	said := o.Said("ordered")
	if err := control.PutActs(ctx, tx, id, acts, said, revision); err != nil {
		return sourcestate.Outcome{}, err
	}
	s.Acts = acts
	if err := o.Outbox.Append(ctx, tx, sourcestate.Event(*s, revision, sourcestate.Cause{Done: done, Decision: o.Decision}, o.At)); err != nil {
		return sourcestate.Outcome{}, fmt.Errorf("source %s: %w", id, err)
	}
	return sourcestate.Outcome{Source: id, Done: true, Detail: detail, Seen: is}, nil
}

// waitingAt counts the files with which something would be done at a source by an order
// now, in words: what was shown, and what is still to be looked at.
func waitingAt(ctx context.Context, tx pgx.Tx, source string) (string, error) {
	counts, err := control.DoneCounts(ctx, tx, source)
	var all control.DoneCount
	for _, n := range counts {
		if n.State == control.DoneShown || n.State == control.DoneDue {
			all.Files, all.More = all.Files+n.Files, all.More || n.More
		}
	}
	return Number(all), err
}
