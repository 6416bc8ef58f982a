package e2e

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// restoreControl drops the schema control and makes it anew.
func (s *system) restoreControl() {
	s.t.Helper()
	s.engines(s.restoreLostControl)
}

// restoreLostControl does so while the engines are serving.
func (s *system) restoreLostControl(at engine.Endpoints) {
	s.t.Helper()
	s.dropSchema(at, "control")
	s.t.Log(s.ask("control", "restore"))
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
	t.Parallel()
	long(t, "TestWhatHasEndedStaysAndTheRestGoesOn", "TestABatchIsFinishedWhereverItWasCutOff", "TestARestoredControlGoesOnWithTheChain")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shapeOfLoss()}, rig.Options{Local: true})
	s.once()
	var before state
	var work map[string]int64
	s.engines(func(at engine.Endpoints) {
		before, work = s.stands(at, true), s.work()
		s.restoreLostControl(at)
	})
	s.once()
	s.engines(func(at engine.Endpoints) {
		if diff := gocmp.Diff(before, s.stands(at, true)); diff != "" {
			t.Errorf("what the restored control changed (-before +after):\n%s", diff)
		}
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
	t.Parallel()
	campaignOfLoss(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: shortLeases})
	undisturbed := undisturbedHash(t, corpus.Demo)
	for _, moment := range []struct{ name, sql string }{
		{"some files are fetched", "SELECT count(*) FILTER (WHERE sha256 <> '') > 5 AND count(*) FILTER (WHERE state <> 'ended') > 0 FROM control.acquisition"},
		{"some batches are out", "SELECT EXISTS (SELECT FROM warehouse.document) AND EXISTS (SELECT FROM control.acquisition WHERE state <> 'ended') AND EXISTS (SELECT FROM control.batch WHERE released_at IS NULL)"},
	} {
		t.Run(moment.name, func(t *testing.T) {
			s.caught(moment.sql).kill(true)
			s.restoreControl()
			s.once()
			got := s.expect(false)
			if got.Hash != undisturbed {
				t.Errorf("warehouse hash %s, of an undisturbed run %s", got.Hash, undisturbed)
			}
			s.insertedOnce()
		})
	}
}

// caught begins anew until a round is under way of which a question to its database is
// answered with yes: one that is quick may be over before the question is asked again, most
// where the machine is busy.
func (s *system) caught(question string) *process {
	s.t.Helper()
	for range 10 {
		s.forget()
		p := s.start("up", "--once")
		if s.reached(p, question) {
			return p
		}
		if code := p.code(onceWithin); code != 0 {
			s.t.Fatalf("tributary up --once: exit code %d\n%s", code, p.tail())
		}
	}
	s.t.Fatalf("ten rounds ended before: %s", question)
	return nil
}

// reached waits until a question to the database of a running program is
// answered with yes, or the program ends, and tells whether it was.
func (s *system) reached(p *process, question string) (yes bool) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(wait.Patience()); ; {
		if at, running, err := engine.Attach(s.data()); err == nil && running && at.Postgres != "" {
			s.warehouse(at, func(pool *pgxpool.Pool) {
				for !yes && pool.QueryRow(s.t.Context(), question).Scan(&yes) == nil {
					select {
					case <-p.done:
						return
					case <-tick.C:
					}
				}
			})
			if yes {
				return true
			}
		}
		select {
		case <-over:
			s.t.Fatalf("never so: %s\n%s", question, p.tail())
		case <-p.done:
			return false
		case <-tick.C:
		}
	}
}
