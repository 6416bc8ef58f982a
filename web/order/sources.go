package order

import (
	"context"
	"time"

	"tributary/producers/sourcestate"
	"tributary/queries/asof"
	"tributary/sql/control"
	"tributary/web/access"
)

// isRemoved is why most is not ordered of a source that is not notRemoved.
const isRemoved = "it is removed"

func notRemoved(state string) bool { return state != control.SourceRemoved }

// standings are the orders about how sources stand.
func standings(d Deps) Table {
	one := func(give func(o sourcestate.Orders, ctx context.Context, a Asked) ([]sourcestate.Outcome, error)) func(context.Context, Asked) (Outcome, error) {
		return func(ctx context.Context, a Asked) (Outcome, error) {
			outcomes, err := give(sourcestate.Orders{Decision: a.Decision, Pool: d.Control, Outbox: d.Outbox, Dry: a.Dry}, ctx, a)
			if err != nil || len(outcomes) == 0 {
				return Outcome{}, err
			}
			return Outcome{Subject: a.Subject, Done: outcomes[0].Done, Detail: outcomes[0].Detail}, nil
		}
	}
	t := Table{
		{
			Name: "poll", Verb: "Poll", About: "The source is due at once, whatever its interval. A suspended one is probed.",
			Offered:   func(state string) bool { return state != control.SourceMaintenance && state != control.SourceRemoved },
			Otherwise: "it is left alone: resume it first",
			give: one(func(o sourcestate.Orders, ctx context.Context, a Asked) ([]sourcestate.Outcome, error) {
				return o.Poll(ctx, a.Subject)
			}),
		},
		{
			Name: "maintain", Verb: "Put into maintenance:", About: "Nothing is listed there and nothing fetched from it until it is resumed, or until the time that is given. A fetch that has begun goes on to its end; files that wait are fetched from other sources that show them, or later.",
			Offered:   notRemoved,
			Otherwise: isRemoved,
			Value:     &Value{Label: "Until", Hint: "6h, 2d, or 2026-11-21T10:00:00Z; empty: until it is resumed"},
			give: one(func(o sourcestate.Orders, ctx context.Context, a Asked) ([]sourcestate.Outcome, error) {
				var until *time.Time
				if a.Value != "" {
					at, err := asof.Ahead(a.Value, a.At)
					if err != nil {
						return nil, bad("until when: %v", err)
					}
					until = &at
				}
				return o.Maintain(ctx, until, a.Subject)
			}),
		},
		{
			Name: "resume", Verb: "Resume", About: "The source is available again and due at once. Remove first what it failed of: else it is suspended again.",
			Offered: func(state string) bool {
				return state == control.SourceMaintenance || state == control.SourceSuspended
			},
			Otherwise: "it is neither suspended nor in maintenance",
			give: one(func(o sourcestate.Orders, ctx context.Context, a Asked) ([]sourcestate.Outcome, error) {
				return o.Resume(ctx, a.Subject)
			}),
		},
	}
	for i := range t {
		name := t[i].Name
		t[i].On, t[i].Least = Sources, access.Operator
		t[i].Command = func(a Asked) string {
			command := "tributary sources " + name + " " + quoted(a.Subject)
			if a.Value != "" {
				command += " --until " + quoted(a.Value)
			}
			return command
		}
	}
	return t
}
