package pg

import (
	"context"
	"errors"
	"time"
)

// Renew has something renewed that is leased for ttl, three times in that time, until ctx
// ends. When another has taken it over, so that renew's error matches [ErrLeaseLost], lost
// is told so, and it is renewed no more. What else goes wrong is tried again: if that
// lasts, the lease ends by itself.
func Renew(ctx context.Context, ttl time.Duration, lost context.CancelCauseFunc, renew func() error) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if errors.Is(renew(), ErrLeaseLost) {
				lost(ErrLeaseLost)
				return
			}
		}
	}
}
