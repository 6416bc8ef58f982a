package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// lose drops schemas and deletes ClickHouse's directory, all at once, whoever is
// at work on them. The engines' supervisor then starts ClickHouse with nothing.
func (s *system) lose(at engine.Endpoints, schemas ...string) {
	s.t.Helper()
	dir := filepath.Join(s.data(), "clickhouse")
	all := below(os.Getpid()) // also of tests beside this one
	i := slices.IndexFunc(all, func(pid int) bool {
		return slices.Contains(arguments(pid), engine.ChildCommand) && slices.Contains(arguments(pid), dir)
	})
	if i < 0 {
		s.t.Fatal("there is no process of ClickHouse's in " + dir)
	}
	child := all[i]
	// It must not write between the two.
	for _, step := range []func() error{
		func() error { return syscall.Kill(child, syscall.SIGSTOP) },
		func() error { return os.Rename(dir, dir+".lost") },
		func() error { return syscall.Kill(child, syscall.SIGKILL) },
		func() error { return os.RemoveAll(dir + ".lost") },
	} {
		if err := step(); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, name := range schemas {
		s.dropSchema(at, name)
	}
	eventually(s.t, wait.Patience(), func() string {
		if _, err := os.Stat(dir); err != nil {
			return err.Error()
		}
		return ""
	})
}

// rebuilt has all projections made anew.
func (s *system) rebuilt() {
	s.t.Helper()
	for _, what := range []string{"tracker", "warehouse", "history"} {
		s.t.Log(s.ask(what, "rebuild"))
	}
}

// trackerTables are the tables whose rows follow from the log, and the view that adds
// up what members counted, each for itself.
const trackerTables = `SELECT relname FROM pg_class WHERE relnamespace = 'tracker'::regnamespace AND (relkind = 'r' AND relname NOT IN ('schema_version', 'consumed', 'consumed_topic', 'tally') OR relname = 'standing')`

// projections are all rows of warehouse, tracker and history; of the last, and
// of its columns, a sum.
func (s *system) projections(at engine.Endpoints) map[string][]string {
	s.t.Helper()
	out := s.warehouseRows(at)
	s.warehouse(at, func(pool *pgxpool.Pool) {
		for _, table := range lines(s.t, pool, trackerTables) {
			out["tracker."+table] = lines(s.t, pool, "SELECT t::text FROM tracker."+table+" t")
		}
	})
	if len(out["tracker.zip_file"]) == 0 || len(out["claim"]) == 0 {
		s.t.Fatal("there are no rows to compare")
	}
	type sum struct{ Rows, Sum string }
	for _, r := range sql[sum](s, "history", "SELECT toString(count()) AS rows, toString(sum(cityHash64(*))) AS sum FROM log") {
		out["history"] = append(out["history"], r.Rows+" "+r.Sum)
	}
	return out
}

// Warehouse, tracker and history are lost at once, and made anew: every row is
// as before, and nothing was told again.
func TestEverythingIsLost(t *testing.T) {
	t.Parallel()
	campaignOfLoss(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.once()
	s.engines(func(at engine.Endpoints) {
		before, events := s.projections(at), s.records()
		s.lose(at, "tracker", "warehouse")
		s.rebuilt()
		if diff := gocmp.Diff(before, s.projections(at)); diff != "" {
			t.Errorf("rows (-before +rebuilt):\n%s", diff)
		}
		if diff := gocmp.Diff(events, s.records()); diff != "" {
			t.Errorf("events (-before +after the rebuilds):\n%s", diff)
		}
		s.proven()
	})
}

// The same while everything runs and files come, before they are lost, after,
// and between one rebuild and the next: they arrive, and in the end all is as in
// an undisturbed run.
func TestEverythingIsLostWhileIngestGoesOn(t *testing.T) {
	t.Parallel()
	campaignOfLoss(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: lively})
	add := func(n int) {
		t.Helper()
		if err := s.corpus.Add(n); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
	}
	s.engines(func(at engine.Endpoints) {
		all := s.start("run", "all")
		eventually(t, wait.Patience(), func() string { return s.inserted(at, 20) })
		add(5)
		s.lose(at, "tracker", "warehouse")
		add(5)
		for _, what := range []string{"warehouse", "history", "tracker"} {
			t.Log(s.ask(what, "rebuild"))
			add(5)
		}
		s.settled(all)
		all.stop()
	})
	s.once()
	got := s.expect(false, s.proving)
	s.insertedOnce()
	s.forget()
	s.once()
	s.engines(func(engine.Endpoints) {
		if undisturbed := s.hash(); undisturbed != got.Hash {
			t.Errorf("warehouse hash %s, undisturbed %s", got.Hash, undisturbed)
		}
	})
}

// Control is lost with all the others, in the middle of a round that is killed:
// what was outstanding is finished, and nothing is inserted twice.
func TestEverythingIsLostWithControl(t *testing.T) {
	t.Parallel()
	campaignOfLoss(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: shortLeases})
	s.caught("SELECT EXISTS (SELECT FROM warehouse.document) AND EXISTS (SELECT FROM control.acquisition WHERE state <> 'ended') AND EXISTS (SELECT FROM control.batch WHERE released_at IS NULL)").kill(true)
	s.engines(func(at engine.Endpoints) {
		s.lose(at, "control", "tracker", "warehouse")
		t.Log(s.ask("control", "restore"))
		s.rebuilt()
	})
	s.once()
	got := s.expect(false, s.proving)
	if undisturbed := undisturbedHash(t, corpus.Demo); got.Hash != undisturbed {
		t.Errorf("warehouse hash %s, of an undisturbed run %s", got.Hash, undisturbed)
	}
	s.insertedOnce()
}
