// Package retry repeats what may succeed later: with capped, exponentially
// growing pauses and full jitter, so that many who failed together don't come
// back together.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Policy says how often and for how long to try. The zero value tries for ever,
// with pauses up to 30 s.
type Policy struct {
	// Base is the upper bound of the first pause; 100 ms by default. It doubles
	// with each attempt.
	Base time.Duration
	// Max caps the bound; 30 s by default.
	Max time.Duration
	// Attempts is the greatest number of tries; 0 means no limit.
	Attempts int
	// Total is the time after which no new try begins; 0 means no limit.
	Total time.Duration
}

// permanent marks an error that no repetition helps.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent wraps an error so that Do returns it at once; nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent reports whether err was marked by [Permanent].
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// Pause returns a random pause before try number attempt (the first retry is
// 1): between nothing and the bound, which doubles up to the cap.
func (p Policy) Pause(attempt int) time.Duration {
	bound, limit := p.Base, p.Max
	if bound <= 0 {
		bound = 100 * time.Millisecond
	}
	if limit <= 0 {
		limit = 30 * time.Second
	}
	for i := 1; i < attempt && bound < limit; i++ {
		bound *= 2
	}
	return rand.N(min(bound, limit)) + 1
}

// Do calls f until it succeeds, fails for good, the policy's limits are reached
// or ctx ends. It returns f's last error, without the mark of [Permanent]; when
// ctx ends first, that joined with the context's. failed, if not nil, is told
// each failure that will be retried.
func Do(ctx context.Context, p Policy, f func(ctx context.Context) error, failed func(attempt int, err error, pause time.Duration)) error {
	start := time.Now()
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if p, ok := err.(permanent); ok { //nolint:errorlint // only an outermost mark can be taken off without losing what wraps it
			return p.error
		}
		if IsPermanent(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		pause := p.Pause(attempt)
		if p.Attempts > 0 && attempt >= p.Attempts || p.Total > 0 && time.Since(start)+pause > p.Total {
			return err
		}
		if failed != nil {
			failed(attempt, err, pause)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}
