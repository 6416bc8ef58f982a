package member

import (
	"time"

	"tributary/internal/backoff"
)

// Default gives a setting that is not set its default.
func Default[T int | time.Duration](v *T, byDefault T) {
	if *v <= 0 {
		*v = byDefault
	}
}

// Reconnects are the pauses between attempts at a broker or a store that does not
// answer.
func Reconnects() backoff.Exponential {
	return backoff.Exponential{Base: 100 * time.Millisecond, Max: 5 * time.Second}
}
