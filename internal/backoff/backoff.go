// Package backoff computes for how long to wait before something that failed is
// tried again, and waits.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Exponential is a pause that doubles with each failure.
type Exponential struct {
	Base time.Duration // after the first failure
	Max  time.Duration // what no pause exceeds
}

// After is the pause after n failures in a row.
func (e Exponential) After(n int) time.Duration {
	d := e.Base
	for i := 1; i < n && d < e.Max; i++ {
		d *= 2
	}
	return min(d, e.Max)
}

// Jittered is the pause after n failures in a row of which half is left to
// chance, so that many who failed together do not come back together.
func (e Exponential) Jittered(n int) time.Duration {
	d := e.After(n)
	return d/2 + rand.N(d/2+1)
}

// Sleep waits for so long; where ctx ends before, it returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Every yields at once and then after each pause, until ctx ends. A turn that takes longer
// than a pause is followed by the next one at once.
func Every(ctx context.Context, pause time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for yield() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}
