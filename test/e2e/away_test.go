package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// processMemory is what a process of roles may take at most, in kB: what
// cmd/tributary states.
const processMemory = 300 << 10

// While insert is away, everything before it goes on: files are found, fetched,
// validated and ordered, session after session. What waits for insert is in
// the log alone: outboxes run empty, no job or poll is left over, and the
// process stays within its memory. When insert is back, all is inserted, with
// nobody's help. TRIBUTARY_AWAY_ZIPS makes the corpus larger.
func TestInsertIsAway(t *testing.T) {
	t.Parallel()
	long(t, "TestOutboxOfManyEvents")
	of, rounds := corpus.Options{Seed: seed(t), Shape: corpus.Demo}, 3
	if zips := number(t, "TRIBUTARY_AWAY_ZIPS", 0); zips > 0 {
		of, rounds = corpus.Options{Seed: seed(t), Shape: corpus.Bench, Zips: int(zips)}, 10
	}
	s := setUp(t, of, rig.Options{Local: true, Extra: lively})
	s.engines(func(engine.Endpoints) {
		before := s.start("run", "schedule", "poll", "plan", "publish", "download", "unzip", "validate", "sequence", "tracker", "history")
		for round := range rounds {
			if round > 0 {
				if err := s.corpus.Add(9); err != nil {
					t.Fatal(err)
				}
				if err := s.rig.Update(); err != nil {
					t.Fatal(err)
				}
			}
			at := s.allOrdered(before)
			if kB := peakMemory(t, before); kB > processMemory {
				t.Errorf("round %d: the process took %d MB, more than %d", round, kB>>10, processMemory>>10)
			}
			t.Logf("round %d: %s, peak memory %d MB", round, at, peakMemory(t, before)>>10)
		}
		if n := sql[struct{ N int64 }](s, "warehouse", "SELECT count(*) AS n FROM warehouse.state WHERE next_position > 1")[0].N; n != 0 {
			t.Fatal("something was inserted though insert was away")
		}
		after := s.start("run", "insert")
		s.settled(before, after)
		after.stop()
		before.stop()
	})
	s.once()
	s.expect(false)
}

// allOrdered waits until every file of the corpus has been taken up and ordered,
// and nothing waits in control's outbox, and says where control stands.
func (s *system) allOrdered(running *process) (at string) {
	s.t.Helper()
	files := len(s.corpus.Oracle.Files)
	eventually(s.t, wait.Patience(), func() string {
		select {
		case <-running.done:
			s.t.Fatalf("tributary %s has ended: %v\n%s", running.name, running.err, running.tail())
		default:
		}
		if !running.said(`"msg":"running"`) || !s.begun() {
			return "it is still starting"
		}
		now, err := s.orders()
		if err != nil {
			return err.Error()
		}
		at = fmt.Sprintf("%+v", now)
		if now.Files < int64(files) || now.Open+now.Jobs+now.Batches+now.Outbox+now.Warehouse > 0 || now.Next < 2 {
			return fmt.Sprintf("%d files are to be known and ordered: %s", files, at)
		}
		return ""
	})
	return at
}

// orders is where control stands, which queries of people don't see.
type orders struct{ Files, Open, Jobs, Batches, Outbox, Warehouse, Next int64 }

func (s *system) orders() (now orders, err error) {
	s.t.Helper()
	at, running, err := engine.Attach(s.data())
	if err != nil || !running {
		return now, errors.Join(errors.New("no engines are running"), err)
	}
	s.warehouse(at, func(pool *pgxpool.Pool) {
		err = pool.QueryRow(s.t.Context(), `SELECT (SELECT count(*) FROM control.file), (SELECT count(*) FROM control.acquisition WHERE state <> 'ended'),
			(SELECT count(*) FROM control.job), (SELECT count(*) FROM control.batch WHERE released_at IS NULL),
			(SELECT coalesce(sum(events), 0)::bigint FROM control.outbox), (SELECT coalesce(sum(events), 0)::bigint FROM warehouse.outbox),
			(SELECT next FROM control.position)`).Scan(&now.Files, &now.Open, &now.Jobs, &now.Batches, &now.Outbox, &now.Warehouse, &now.Next)
	})
	return now, err
}

// peakMemory is the most that a process has taken so far, in kB.
func peakMemory(t testing.TB, p *process) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skipf("the memory of a process can't be read here: %v", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kB int64
		if strings.HasPrefix(lines.Text(), "VmHWM:") {
			if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kB); err != nil {
				t.Fatal(err)
			}
			return kB
		}
	}
	t.Fatal("the process's status has no VmHWM")
	return 0
}
