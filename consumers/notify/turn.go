package notify

import (
	"context"
	"time"

	"tributary/internal/backoff"
	"tributary/internal/crashpoint"
	"tributary/schemas"
)

// turns does something every so often until ctx ends, as long as no other member does,
// and says what goes wrong: it comes again.
func (n *Notify) turns(ctx context.Context, name string, every time.Duration, do func(context.Context) error) error {
	report := func(err error) {
		n.deps.Log.Warn("work of the role notify failed; trying again", "work", name, "error", schemas.Clean(err.Error()))
	}
	n.deps.Lease(Name+"."+name).Keep(ctx, report, func(ctx context.Context, _ int64) error {
		for ctx.Err() == nil {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
			crashpoint.At(Name, name)
			_ = backoff.Sleep(ctx, every)
		}
		return nil
	})
	return nil
}
