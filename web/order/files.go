package order

import (
	"context"
	"fmt"
	"strconv"

	"tributary/recovery/byhand"
	"tributary/sql/control"
	"tributary/web/access"
)

// files are the orders about single files.
func files(d Deps) Table {
	one := func(give func(byhand.Orders, context.Context, string) (byhand.Outcome, error)) func(context.Context, Asked) (Outcome, error) {
		return func(ctx context.Context, a Asked) (Outcome, error) {
			if d.Control == nil {
				return Outcome{}, ErrNotHere
			}
			r, err := give(byhand.Orders{Decision: a.Decision, Pool: d.Control, Outbox: d.Outbox, Dry: a.Dry}, ctx, a.Subject)
			return Outcome{Subject: a.Subject, Done: r.Done, Detail: r.Detail}, err
		}
	}
	t := Table{
		{
			Name: "hold", Verb: "Hold", About: "What is under way of the file and has no position yet ends, and nothing of it begins until it is released: no new version, no retry, no replay.",
			give: one(byhand.Orders.Hold),
		},
		{
			Name: "release", Verb: "Release", About: "The file goes on if it is held. What its sources show of it now is taken up at once, as a late file.",
			give: one(byhand.Orders.Release),
		},
		{
			Name: "cancel", Verb: "Cancel", About: "What is under way of the file and has no position yet ends. It is never tried again by itself; a new version of the file, or a replay, begins anew.",
			give: one(byhand.Orders.Cancel),
		},
		{
			Name: "retry", Verb: "Try again", About: "A file that failed and is tried again later, or that waits for its next attempt, is fetched at once. What was fetched is processed anew by a replay.",
			give: one(byhand.Orders.Retry),
		},
		{
			Name: "priority", Verb: "Give a priority to", About: "The file is fetched before all files of its source with a lower priority, and its source's turn at the server comes by it. It has the priority until it is fetched, or has ended for good.",
			Value: &Value{Label: "Priority", Hint: "from 0 to " + strconv.Itoa(control.MostPriority) + ", which comes first", Must: true, Any: "0"},
			give: func(ctx context.Context, a Asked) (Outcome, error) {
				p, err := strconv.Atoi(a.Value)
				if err != nil || p < 0 || p > control.MostPriority {
					return Outcome{}, bad("the priority %q: it is a number from 0 to %d, which comes first", a.Value, control.MostPriority)
				}
				return one(func(o byhand.Orders, ctx context.Context, file string) (byhand.Outcome, error) {
					return o.Priority(ctx, file, p)
				})(ctx, a)
			},
		},
	}
	for i := range t {
		name := t[i].Name
		t[i].On, t[i].Least, t[i].Tried = Files, access.Wrangler, true
		t[i].Command = func(a Asked) string {
			command := fmt.Sprintf("tributary files %s %s", name, quoted(a.Subject))
			if name == "priority" {
				command += " " + or(a.Value, "PRIORITY")
			}
			return command
		}
	}
	return t
}
