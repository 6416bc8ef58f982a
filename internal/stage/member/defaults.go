package member

import (
	"math/rand/v2"
	"time"
)

// Default gives a setting that is not set its default.
func Default[T int | time.Duration](v *T, byDefault T) {
	if *v <= 0 {
		*v = byDefault
	}
}

// Backoff is the pause before attempt n+1 after n failures: doubling from
// base up to limit, of which half is left to chance, so that many who failed
// together do not come back together.
func Backoff(base, limit time.Duration, n int) time.Duration {
	d := base
	for i := 1; i < n && d < limit; i++ {
		d *= 2
	}
	d = min(d, limit)
	return d/2 + rand.N(d/2+1)
}
