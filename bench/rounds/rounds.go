// Package rounds gathers what benches measure round by round. Its lines are what make
// bench reads: "bench", the name of what was measured, and words key=value, of which
// ours, peer and ratio are medians.
package rounds

import (
	"fmt"
	"slices"
	"strings"
)

// Median is that of values, of which there is at least one; it sorts them.
func Median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Pairs are rounds of ours and of a peer's, in seconds. The ratio, the peer's time by
// ours, is taken round by round: both of a round meet the same machine, whose speed
// changes from one minute to the next. The zero value has no round.
type Pairs struct{ ours, peer, ratios []float64 }

// Add takes a round, and returns its ratio.
func (p *Pairs) Add(ours, peer float64) float64 {
	ratio := peer / ours
	p.ours, p.peer, p.ratios = append(p.ours, ours), append(p.peer, peer), append(p.ratios, ratio)
	return ratio
}

// Ratio is the median of the rounds' ratios.
func (p *Pairs) Ratio() float64 { return Median(slices.Clone(p.ratios)) }

// Line tells the medians, and whatever else is to be told as words key=value.
func (p *Pairs) Line(name string, more ...string) string {
	return strings.Join(append([]string{fmt.Sprintf("bench %s ours=%.2fs peer=%.2fs ratio=%.2f rounds=%d",
		name, Median(slices.Clone(p.ours)), Median(slices.Clone(p.peer)), p.Ratio(), len(p.ratios))}, more...), " ")
}

// Ours and Peer are the medians of each.
func (p *Pairs) Ours() float64 { return Median(slices.Clone(p.ours)) }

// Peer is the median of the peer's.
func (p *Pairs) Peer() float64 { return Median(slices.Clone(p.peer)) }
