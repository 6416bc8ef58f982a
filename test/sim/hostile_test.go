//go:build synctests

package sim

import "testing"

// hostileSeeds are how many seeds with a hostile source are played without faults.
const hostileSeeds = 5

// TestHostileSourcesDelayNobody plays seeds with a source that drips and claims,
// and no faults: then L11 holds every file of another server to its bound.
func TestHostileSourcesDelayNobody(t *testing.T) {
	sh := setup(t)
	played := 0
	for seed := number(envSeed, 1); played < hostileSeeds; seed++ {
		if len(drawDrips(seed)) == 0 {
			continue
		}
		played++
		if s := run(t, sh, seed, true); len(s.violations) > 0 {
			s.keep(t, true)
			t.Errorf("seed %d: %v", seed, s.violations)
		}
	}
}
