package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// restoreControl drops the schema control and makes it anew.
func (s *system) restoreControl() {
	s.t.Helper()
	s.engines(func(at engine.Endpoints) {
		s.dropSchema(at, "control")
		s.t.Log(s.ask("control", "restore"))
	})
}

// insertedOnce checks that no document of a version was ordered twice by the
// live run.
func (s *system) insertedOnce() {
	s.t.Helper()
	type twice struct{ File, Entry string }
	s.engines(func(engine.Endpoints) {
		for _, d := range sql[twice](s, "warehouse", "SELECT file_name AS file, entry FROM warehouse.document GROUP BY file_name, action, entry, archive, run HAVING count(*) > 1") {
			s.t.Errorf("%s of %s was ordered twice", d.Entry, d.File)
		}
	})
}

// Control is lost when nothing is outstanding: a round after it was restored
// fetches nothing and orders nothing anew, and what is added later is inserted
// as in an undisturbed run.
func TestControlIsRestored(t *testing.T) {
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.once()
	before := s.expect(true)
	var work map[string]int64
	s.engines(func(engine.Endpoints) { work = s.work() })
	s.restoreControl()
	s.once()
	after := s.expect(true)
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("what the restored control changed (-before +after):\n%s", diff)
	}
	s.engines(func(engine.Endpoints) {
		if diff := gocmp.Diff(work, s.work()); diff != "" {
			t.Errorf("work that was done again (-before +after):\n%s", diff)
		}
	})
	if err := s.corpus.Add(9); err != nil {
		t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		t.Fatal(err)
	}
	s.once()
	s.expect(true)
	s.insertedOnce()
}

// Control is lost in the middle of a round, with kill -9 of everything: what was
// outstanding is finished, nothing is inserted twice, and the warehouse is as
// after an undisturbed run.
func TestControlIsRestoredInTheMiddle(t *testing.T) {
	from := seed(t)
	s := setUp(t, corpus.Options{Seed: from, Shape: corpus.Demo}, rig.Options{Local: true, Extra: shortLeases})
	began := time.Now()
	s.once()
	whole := time.Since(began)
	undisturbed := s.expect(true)
	rng := rand.New(rand.NewPCG(from, 0x636f6e74))
	for n := range number(t, "TRIBUTARY_RESTORES", 2) {
		s.forget()
		p := s.start("up", "--once")
		at := whole/4 + time.Duration(rng.Int64N(int64(whole/2)))
		p.within(at)
		killed := p.kill(true)
		t.Logf("round %d: killed after %s: %t", n, at.Round(time.Millisecond), killed)
		s.restoreControl()
		s.once()
		got := s.expect(false)
		if got.Hash != undisturbed.Hash {
			t.Errorf("warehouse hash %s, of an undisturbed run %s", got.Hash, undisturbed.Hash)
		}
		s.insertedOnce()
		if t.Failed() {
			t.Fatalf("seed %d fails in round %d", from, n)
		}
	}
}
