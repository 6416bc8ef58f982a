package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/turns"
	"tributary/test/wait"
)

// lossEnv is the variable by which make lost asks for the long forms of the
// tests that lose a schema.
const lossEnv = "TRIBUTARY_LOST"

// shapeOfLoss is the corpus of what runs everywhere: a few files, or in the
// campaign some dozens.
func shapeOfLoss() string {
	if os.Getenv(lossEnv) == "" {
		return corpus.Small
	}
	return corpus.Demo
}

func campaignOfLoss(t *testing.T) {
	t.Helper()
	if os.Getenv(lossEnv) == "" {
		t.Skip("takes minutes: make lost runs it")
	}
	turns.Take(t)
}

// warehouseRows is all that a warehouse holds, as far as people ask for it.
func (s *system) warehouseRows(at engine.Endpoints) map[string][]string {
	s.t.Helper()
	out := map[string][]string{"hash": {s.hash()}}
	s.warehouse(at, func(pool *pgxpool.Pool) {
		for _, table := range []string{"document", "data_check", "withdrawal", "claim", "finding", "finding_count", "context_parameter", "context_run", "overview_part", "overview_record"} {
			out[table] = lines(s.t, pool, "SELECT t::text FROM warehouse."+table+" t")
		}
	})
	return out
}

func (s *system) dropSchema(at engine.Endpoints, name string) {
	s.t.Helper()
	s.warehouse(at, func(pool *pgxpool.Pool) {
		// Members at work may stand in the way, or be stood in.
		eventually(s.t, wait.Patience(), func() string {
			if _, err := pool.Exec(s.t.Context(), "DROP SCHEMA "+name+" CASCADE"); err != nil {
				return err.Error()
			}
			return ""
		})
	})
}

// The schema warehouse is dropped and made anew from the order and the blobs:
// nothing is told again, every row is as before, and what is added afterwards
// is inserted as in an undisturbed run.
func TestDroppedWarehouseIsRebuilt(t *testing.T) {
	long(t, "TestRebuildOfALostWarehouse", "TestRebuildEqualsLive")
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shapeOfLoss()}, rig.Options{Local: true})
	s.once()
	s.engines(func(at engine.Endpoints) {
		s.stands(at, true)
		before, events := s.warehouseRows(at), s.records()
		s.dropSchema(at, "warehouse")
		s.ask("warehouse", "rebuild")
		if diff := gocmp.Diff(before, s.warehouseRows(at)); diff != "" {
			t.Errorf("rows (-before +rebuilt):\n%s", diff)
		}
		if diff := gocmp.Diff(events, s.records()); diff != "" {
			t.Errorf("events (-before +after the rebuild):\n%s", diff)
		}
		s.ask("warehouse", "verify")
		s.warehouse(at, func(pool *pgxpool.Pool) {
			if _, err := pool.Exec(t.Context(), "UPDATE warehouse.measurement SET value = 'forged' WHERE (position, ordinal) = (SELECT position, ordinal FROM warehouse.measurement WHERE value <> '' LIMIT 1)"); err != nil {
				t.Fatal(err)
			}
		})
		p := s.start("warehouse", "verify")
		if code := p.code(wait.Patience()); code != 1 || !strings.Contains(p.output(), "forged") || !strings.Contains(p.output(), "measurement: ") {
			t.Errorf("a forged row: exit code %d\n%s%s", code, p.output(), p.tail())
		}
		s.ask("warehouse", "rebuild")
		if diff := gocmp.Diff(before, s.warehouseRows(at)); diff != "" {
			t.Errorf("rows (-before +rebuilt again):\n%s", diff)
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
}

// The same while everything runs and files come: the schema is dropped under
// the running roles, a rebuild is killed, and a warehouse that is there is made
// anew. In the end all is as undisturbed.
func TestWarehouseIsRebuiltWhileIngestGoesOn(t *testing.T) {
	t.Parallel()
	campaignOfLoss(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: lively})
	one := undisturbedHash(t, corpus.Demo)
	s.engines(func(at engine.Endpoints) {
		all := s.start("run", "all")
		eventually(t, wait.Patience(), func() string { return s.inserted(at, 20) })
		s.dropSchema(at, "warehouse")
		killed := s.start("warehouse", "rebuild")
		killed.within(300 * time.Millisecond)
		killed.kill(false)
		s.ask("warehouse", "rebuild")
		s.settled(all)
		if hash := s.hash(); hash != one {
			t.Errorf("warehouse hash %s, undisturbed %s", hash, one)
		}
		for range 2 {
			if err := s.corpus.Add(5); err != nil {
				t.Fatal(err)
			}
			if err := s.rig.Update(); err != nil {
				t.Fatal(err)
			}
			s.ask("warehouse", "rebuild")
			s.settled(all)
		}
		s.ask("warehouse", "verify")
		all.stop()
	})
	s.once()
	s.expect(false)
}

// inserted says what is missing until so many documents are in the warehouse.
func (s *system) inserted(at engine.Endpoints, n int) (missing string) {
	s.warehouse(at, func(pool *pgxpool.Pool) {
		var got int
		if err := pool.QueryRow(s.t.Context(), "SELECT count(*) FROM warehouse.document").Scan(&got); err != nil {
			missing = err.Error() // it has not begun
		} else if got < n {
			missing = "too few documents"
		}
	})
	return missing
}
