package why_test

import (
	"context"
	"time"

	"tributary/queries/why"
	"tributary/recovery/byhand"
	"tributary/sql/control"
)

// order gives an order about a file.
func (o *oracle) order(give func(byhand.Orders, context.Context, string) (byhand.Outcome, error), path string) {
	o.t.Helper()
	orders := byhand.Orders{Pool: o.Pool, Outbox: o.Outbox, Decision: control.Decision{By: "ann@host", Reason: "wrong mice", At: o.Clock}}
	if out, err := give(orders, o.t.Context(), path); err != nil || !out.Done {
		o.t.Fatalf("%s: %+v, %v", path, out, err)
	}
	o.read(true)
}

func ordered(o *oracle) {
	s := o.source("hand", "Tcp")
	path := func(n int) string { return "edit/" + zip("Tcp", n) }
	s.show(path(1), 10)
	s.show(path(2), 10)
	o.listed("hand")
	o.order(byhand.Orders.Cancel, path(1))
	o.want("hand", path(1), why.CancelledByHand, "was cancelled by ann@host: wrong mice", stamp(o.Clock)+"  what was under way of it ended in download (attempt 1, at hand)", "replay it")
	o.order(byhand.Orders.Hold, path(2))
	held := stamp(o.Clock) + "  it is held by ann@host: wrong mice"
	o.want("hand", path(2), why.Held, held, "ended so, in download (attempt 1, at hand)", "tributary files release "+path(2))
	s.show(path(1), 20)
	s.show(path(2), 20)
	o.Clock = o.Clock.Add(time.Minute)
	o.listed("hand")
	o.want("hand", path(1), why.Queued)
	o.want("hand", path(2), why.Held, held, "attempt 2, at hand", "hand listed it so first (look 2, session")
	o.order(byhand.Orders.Release, path(2))
	o.want("hand", path(2), why.Queued, "behind 1 other file of it")
	o.order(func(of byhand.Orders, ctx context.Context, named string) (byhand.Outcome, error) {
		return of.Priority(ctx, named, 9)
	}, path(2))
	o.want("hand", path(2), why.Queued, "behind 0 other files of it", "it has the priority 9, in place of its source's, until it is fetched: given by ann@host: wrong mice")
	o.want("hand", path(1), why.Queued, "behind 1 other file of it")
	o.order(byhand.Orders.Cancel, path(1))
	o.order(byhand.Orders.Cancel, path(2))
}
