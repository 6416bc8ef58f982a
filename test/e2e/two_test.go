package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// lively makes what runs on and on do in seconds what it does in minutes. To list every
// source each second takes a third of a processor from those who are waited for.
const lively = `schedule:
  interval: 3s
  jitter: 0
  tick: 100ms
poll:
  settle: 0s
plan:
  backoff: 200ms
sequence:
  late_limit: 1s
publish:
  lease_ttl: 2s
insert:
  lease_ttl: 2s
`

// Two of every role, in processes of their own on one broker and one Postgres,
// give what one of each gives; also for what is added while they run, and when
// one of them stops.
func TestTwoOfEveryRole(t *testing.T) {
	t.Parallel()
	long(t, "TestTwoSequencersGiveGaplessPositions", "TestTwoPlannersDispatchAtOnce")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: lively})
	one := undisturbedHash(t, corpus.Demo)
	s.engines(func(engine.Endpoints) {
		a, b := s.start("run", "all"), s.start("run", "all")
		s.settled(a, b)
		if hash := s.hash(); hash != one {
			t.Errorf("warehouse hash %s with two of every role, %s with one", hash, one)
		}
		if err := s.corpus.Add(9); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
		s.settled(a, b)
		a.stop()
		if err := s.corpus.Add(9); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
		s.settled(b)
		b.stop()
	})
	// What the stop left in the outboxes and projections is finished by a round.
	s.once()
	s.expect(false)
}

// One of two is killed while both work, another takes its place, and so on
// (once in ten of TRIBUTARY_KILLS): the others finish what it left, once. A
// death during a rebalance is found by the rebalance's own limit.
func TestKillOneOfTwo(t *testing.T) {
	t.Parallel()
	long(t, "TestCrashRepeatsABoundedWindow", "TestEndedWorkWaitsForItsAcknowledgements")
	kills := max(1, number(t, killsEnv, 10)/10)
	from := seed(t)
	s := setUp(t, corpus.Options{Seed: from, Shape: corpus.Demo}, rig.Options{Local: true, Extra: abandoned})
	one := undisturbedHash(t, corpus.Demo)
	rng := rand.New(rand.NewPCG(from, 0x74776f))
	s.engines(func(engine.Endpoints) {
		members := []*process{s.start("run", "all"), s.start("run", "all")}
		for range kills {
			at, victim := time.Duration(rng.Int64N(int64(2*time.Second))), rng.IntN(2)
			if members[victim].within(at) {
				t.Fatalf("a member has ended: %v\n%s", members[victim].err, members[victim].tail())
			}
			members[victim].kill(false)
			t.Logf("seed %d: member %d killed after %s", from, victim, at.Round(time.Millisecond))
			members[victim] = s.start("run", "all")
		}
		s.settled(members...)
		if hash := s.hash(); hash != one {
			t.Errorf("warehouse hash %s with members killed, %s undisturbed", hash, one)
		}
		for _, m := range members {
			m.stop()
		}
	})
	s.once()
	s.expect(false)
}

// settled waits until all files and documents have the oracle's ends. It asks
// Postgres itself: a command that began for each look would take the processor
// from those who are waited for.
func (s *system) settled(running ...*process) {
	s.t.Helper()
	eventually(s.t, wait.Patience(), func() string {
		for _, p := range running {
			select {
			case <-p.done:
				s.t.Fatalf("tributary %s has ended: %v\n%s", p.name, p.err, p.tail())
			default:
			}
			if !p.said(`"msg":"running"`) {
				return "tributary " + p.name + " is still starting"
			}
		}
		if !s.begun() {
			return "tributary files has no answer yet"
		}
		want := map[string]string{}
		for _, f := range s.corpus.Oracle.Files {
			want[f.Action+"/"+f.File] = f.Phase + ", " + f.Status
		}
		for _, d := range s.corpus.Oracle.Documents {
			want[d.Action+"/"+d.File+"/"+d.Document] = d.Phase + ", " + d.Status
		}
		type row struct{ Name, End string }
		got := make(map[string]string, len(want))
		rows, err := queried[row](s, `SELECT action || '/' || file AS name, phase || ', ' || status AS end FROM tracker.file
			UNION ALL SELECT action || '/' || file || '/' || document, phase || ', ' || status FROM tracker.document`)
		if err != nil {
			return err.Error()
		}
		for _, r := range rows {
			if _, twice := got[r.Name]; twice {
				return fmt.Sprintf("%s is there twice", r.Name)
			}
			got[r.Name] = r.End
		}
		return unlike(want, got)
	})
}

// unlike tells how many ends are others than are wanted, and one of them: to write all of
// them down at each look takes longer than to look.
func unlike(want, got map[string]string) string {
	all := maps.Clone(want)
	maps.Copy(all, got)
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return want[name] == got[name] })
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d are otherwise: %s is %q, want %q", len(others), len(want), others[0], got[others[0]], want[others[0]])
}
