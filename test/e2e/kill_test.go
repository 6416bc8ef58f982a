package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"tributary/test/corpus"
	"tributary/test/rig"
)

// killsEnv is the variable by which make test-kill asks for more kills, and for tests
// that take long.
const killsEnv = "TRIBUTARY_KILLS"

// shortLeases lets a restarted program take over at once, and short pauses keep
// the moments of the kills from falling into them.
const shortLeases = `plan:
  backoff: 200ms
publish:
  lease_ttl: 1s
insert:
  lease_ttl: 1s
`

// kill -9 of the whole program at random moments of a run, and a restart at
// once, until the run ends by itself: what is then in the warehouse is what an
// undisturbed run gives, and nothing is pending. As often as that is reached
// before all kills are done, it begins again with no data. Every other kill
// hits the engines at the same moment, the rest leave them orphaned. TRIBUTARY_KILLS
// is how many.
func TestKill(t *testing.T) {
	t.Parallel()
	long(t, "TestAKilledRunTellsEverything", "TestCrashRepeatsABoundedWindow")
	kills, from := int(number(t, killsEnv, 4)), seed(t)
	s := setUp(t, corpus.Options{Seed: from, Shape: corpus.Demo}, rig.Options{Extra: shortLeases})
	s.fromNothing = true // it is killed while it begins, too
	began := time.Now()
	s.once()
	whole := time.Since(began)
	undisturbed := undisturbedHash(t, corpus.Demo)
	t.Logf("seed %d: an undisturbed run takes %s; %d kills", from, whole.Round(time.Millisecond), kills)

	rng := rand.New(rand.NewPCG(from, 0x6b696c6c))
	for life := 1; kills > 0; life++ {
		s.forget()
		killed := false
		for {
			began := time.Now()
			p := s.start("up", "--once")
			if kills > 0 {
				at, tree := time.Duration(rng.Int64N(int64(whole))), kills%2 == 0
				if ended := p.within(at); !ended && p.kill(tree) {
					kills--
					killed = true
					t.Logf("life %d: killed after %s, engines too: %t", life, at.Round(time.Millisecond), tree)
					continue
				}
				if !killed {
					whole = min(whole, time.Since(began)) // later kills must not come too late
				}
			}
			if code := p.code(onceWithin); code != 0 {
				t.Fatalf("life %d: tributary up --once: exit code %d\n%s", life, code, p.tail())
			}
			break
		}
		if !killed {
			continue
		}
		got := s.expect(false)
		if got.Hash != undisturbed {
			t.Errorf("life %d: warehouse hash %s, of an undisturbed run %s", life, got.Hash, undisturbed)
		}
		if t.Failed() {
			t.Fatalf("seed %d fails in life %d", from, life)
		}
	}
}

// within waits that long for the process to end by itself, and says if it did.
func (p *process) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
