package expect

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Least is how many measures a spread is learned from at least.
	Least = 5
	// most is how many of the newest are.
	most = 40
	// outside is the share of the measures that lies below a spread, and above it.
	outside = 0.05
)

// Spread is what was measured of something: nine of ten measures lie between Low and
// High, all if there are fewer than 20 of them.
type Spread struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
	// Factor is the error factor: nine of ten measures were neither so many times the
	// median nor that part of it; nil: there is none, as something was 0.
	Factor  *float64 `json:"factor"`
	Learned int      `json:"learned"` // from how many measures
}

// spread learns from measures, the newest last; nil: there are too few.
func spread(measures []float64) *Spread {
	if len(measures) < Least {
		return nil
	}
	sorted := slices.Clone(measures[max(0, len(measures)-most):])
	slices.SortFunc(sorted, cmp.Compare[float64])
	n := len(sorted)
	cut := int(outside * float64(n))
	s := Spread{Low: sorted[cut], Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, High: sorted[n-1-cut], Learned: n}
	if s.Low > 0 {
		factor := math.Max(s.High/s.Median, s.Median/s.Low)
		s.Factor = &factor
	}
	return &s
}
