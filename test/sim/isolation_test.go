//go:build synctests

package sim

import (
	"testing"
	"time"
)

// L11 gives a file the two joins that it may meet while members start, and no
// other: what is begun later has none to wait for.
func TestIsolationCountsTheJoinsAtTheStart(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after, took time.Duration
		broken      bool
	}{
		"both joins and all that holds up": {5 * time.Second, isolation + heldUp + joining, false},
		"more than that":                   {5 * time.Second, isolation + heldUp + joining + 1, true},
		"begun once all have joined":       {joined, isolation + heldUp, false},
		"a join after the start":           {joined, isolation + heldUp + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := &acq{begun: begun.Add(c.after), result: "inserted"}
			a.over = a.begun.Add(c.took)
			s := &sim{noFaults: true, begun: begun, scene: &scene{}, control: &control{order: []*cfile{{name: "f", acqs: []*acq{a}}}}}
			if s.lawL11(); (len(s.violations) > 0) != c.broken {
				t.Errorf("violations: %v", s.violations)
			}
		})
	}
}
