package replay

import (
	"time"

	"tributary/sql/control"
)

// window is how much of its rate a replay may use at once: a second's, or one
// file's.
func window(rate float64) time.Duration {
	return max(time.Second, time.Duration(float64(time.Second)/rate))
}

// allowance is how many files a replay's rate allows now.
func allowance(r *control.ReplayRun, now time.Time) int64 {
	if r.Rate <= 0 {
		return maxUnderWay
	}
	unused := min(now.Sub(r.PacedAt), window(r.Rate))
	return int64(unused.Seconds()*r.Rate + 1e-6)
}

// spend notes what a replay has used of its rate.
func spend(r *control.ReplayRun, requested int, now time.Time) {
	if r.Rate <= 0 {
		r.PacedAt = now
		return
	}
	if from := now.Add(-window(r.Rate)); r.PacedAt.Before(from) {
		r.PacedAt = from
	}
	r.PacedAt = r.PacedAt.Add(time.Duration(float64(requested) / r.Rate * float64(time.Second)))
}
