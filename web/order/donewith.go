package order

import (
	"context"
	"errors"

	"tributary/producers/donewith"
	"tributary/producers/sourcestate"
	"tributary/web/access"
)

// The names of the orders about what is done at sources with files that are inserted.
const (
	Act        = "act"
	StopActing = "stop-acting"
)

// actions are the orders to have done at a source what it defines as done_with. They
// aren't offered by how the source stands: its page offers one where something is defined.
func actions(d Deps) Table {
	give := func(act bool) func(context.Context, Asked) (Outcome, error) {
		return func(ctx context.Context, a Asked) (Outcome, error) {
			outcomes, err := donewith.Order(ctx, sourcestate.Orders{Decision: a.Decision, Pool: d.Control, Outbox: d.Outbox, Dry: a.Dry}, donewith.Wish{Act: act, Seen: a.Seen}, a.Subject)
			if errors.Is(err, donewith.ErrChanged) {
				err = &Error{err.Error(), true}
			}
			if err != nil || len(outcomes) == 0 {
				return Outcome{}, err
			}
			return Outcome{Subject: a.Subject, Done: outcomes[0].Done, Detail: outcomes[0].Detail, Seen: outcomes[0].Seen}, nil
		}
	}
	return Table{
		{
			On: Sources, Name: Act, Verb: "Act on done_with:", Least: access.Operator, Why: true, Confirmed: true, Elsewhere: true,
			About:   "What the source defines as done_with (delete, move, mark) is done there with each file of which all is inserted, also with those of which it was only shown. What is deleted can't be had back there. The order counts for the done_with and the url that the source has now.",
			give:    give(true),
			Command: func(a Asked) string { return "tributary sources act " + quoted(a.Subject) },
		},
		{
			On: Sources, Name: StopActing, Verb: "Stop acting on done_with:", Least: access.Operator, Why: true, Elsewhere: true,
			About:   "From then on it is only shown what would be done there with files that are inserted. What has been done stays.",
			give:    give(false),
			Command: func(a Asked) string { return "tributary sources act " + quoted(a.Subject) + " --stop" },
		},
	}
}
