package storewait

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tributary/internal/backoff"
)

// Waiter waits for stores.
type Waiter struct {
	Log *slog.Logger
	// Say is told what is waited for and why, and an empty text once it is over.
	Say func(reason string)
	// Give says that there is nobody to wait: the first error is returned.
	Give bool
}

// Until makes attempts until one succeeds, with pauses that grow to ten seconds.
// It ends with an attempt's error if that does not pass by itself (see Away), or
// when ctx ends, with the context's error. What is waited for is logged when it
// begins, when the reason changes and when it is over.
func (w Waiter) Until(ctx context.Context, store string, attempt func(context.Context) error) error {
	pauses := backoff.Exponential{Base: 250 * time.Millisecond, Max: 10 * time.Second}
	said := ""
	for n := 1; ; n++ {
		err := attempt(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			if said != "" {
				w.Log.Info("the store is there; going on", "store", store)
				w.Say("")
			}
			return nil
		case w.Give || !Away(err):
			return fmt.Errorf("%s: %w", store, err)
		}
		if reason := fmt.Sprintf("waiting for %s: %v", store, err); reason != said {
			w.Log.Warn("waiting for a store that is away", "store", store, "error", err)
			w.Say(reason)
			said = reason
		}
		if err := backoff.Sleep(ctx, pauses.Jittered(n)); err != nil {
			return err
		}
	}
}
