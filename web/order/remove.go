package order

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/producers/sources"
	"tributary/queries/expect"
	"tributary/sql/control"
	"tributary/web/access"
)

// removals are the orders by which what people have defined is removed.
func removals(d Deps) Table {
	one := func(remove func(r sources.Registry, ctx context.Context, tx pgx.Tx, ids []string, by control.Decision) ([]sources.Change, error), done string) func(context.Context, Asked) (Outcome, error) {
		return func(ctx context.Context, a Asked) (Outcome, error) {
			if d.Registry == nil {
				return Outcome{}, ErrNotHere
			}
			err := pg.InTx(ctx, d.Control, func(tx pgx.Tx) error {
				_, err := remove(*d.Registry, ctx, tx, []string{a.Subject}, a.Decision)
				if err == nil && a.Dry {
					err = errNothing
				}
				return err
			})
			switch {
			case sources.Refused(err):
				return Outcome{Subject: a.Subject, Done: false, Detail: err.Error()}, nil
			case err != nil && !errors.Is(err, errNothing):
				return Outcome{}, err
			}
			return Outcome{Subject: a.Subject, Done: true, Detail: done}, nil
		}
	}
	return Table{
		{
			On: Sources, Name: "remove", Verb: "Remove", Least: access.Operator,
			About:   "Nothing is listed there any more, nor fetched. What was loaded stays; files that wait are fetched from other sources that show them, or end as cancelled.",
			Offered: notRemoved, Otherwise: isRemoved, Tried: true, Confirmed: true, Effect: d.waits,
			give:    one(sources.Registry.Remove, "it is removed"),
			Command: func(a Asked) string { return "tributary sources remove " + quoted(a.Subject) },
		},
		{
			On: Centres, Name: "remove", Verb: "Remove", Least: access.Operator,
			About: "A centre that was added by mistake: one of which there is no source, and no file that was ever listed. Others can be made inactive.", Tried: true,
			give:    one(sources.Registry.RemoveCentres, "it is removed"),
			Command: func(a Asked) string { return "tributary centres remove " + quoted(a.Subject) },
		},
	}
}

// waits says how many files wait to be fetched from a source.
func (d Deps) waits(ctx context.Context, source string) (string, error) {
	if d.Tracker == nil {
		return "", nil
	}
	all, err := expect.Waiting(ctx, d.Tracker, source)
	if err != nil {
		return "", err
	}
	if n := all[source].Files; n != 1 {
		return fmt.Sprintf("%d files wait to be fetched from it", n), nil
	}
	return "1 file waits to be fetched from it", nil
}
