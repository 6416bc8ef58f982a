//go:build !race

package insert

import (
	"math"
	"testing"
)

// A set of positions holds what was added, however far apart.
func TestBits(t *testing.T) {
	var b bits
	if b.has(1) {
		t.Error("an empty set holds 1")
	}
	in := []int64{1, 63, 64, blockBits - 1, blockBits, 7*blockBits + 5, math.MaxInt64}
	for _, n := range in {
		b.add(n)
	}
	for _, n := range in {
		if !b.has(n) {
			t.Errorf("%d is missing", n)
		}
	}
	for _, n := range []int64{0, 2, 62, 65, blockBits + 1, 6*blockBits + 5, math.MaxInt64 - 1} {
		if b.has(n) {
			t.Errorf("%d was never added", n)
		}
	}
}
