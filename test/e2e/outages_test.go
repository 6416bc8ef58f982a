package e2e

import (
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/ports"
	"tributary/test/rig"
	"tributary/test/servers"
	"tributary/test/wait"
)

// While many files wait to be fetched, their servers are away, let in fewer than they
// allow, deny files and directories, and show files that are gone, in turn. They never
// have more sessions than the two that they allow, by their own count; when all is
// whole again everything is fetched, and the process has no more goroutines and
// descriptors than before. TRIBUTARY_OUTAGES_ZIPS and TRIBUTARY_OUTAGES_SECONDS make
// a campaign of it (make outages).
func TestOutages(t *testing.T) {
	t.Parallel()
	long(t, "TestEveryJobEnds", "TestPollsAndJobsShareTheCredit")
	zips, seconds := int(number(t, "TRIBUTARY_OUTAGES_ZIPS", 60)), number(t, "TRIBUTARY_OUTAGES_SECONDS", 8)
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	const allowed = 2
	extra := withPlan(fmt.Sprintf("  max_sessions: %d\n  job_files: 4\n  attempts: 10000\n  backoff_max: 1s\n  retry_failed: 1s\n", allowed)) + "http:\n  listen: " + free[0].String() + "\n"
	extra = strings.Replace(extra, "  settle: 0s\n", "  settle: 0s\n  suspend_after: 0\n  suspend_sooner: {authorization: 0}\n", 1)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Bench, Zips: 40}, rig.Options{Counted: true, Extra: extra})
	s.engines(func(engine.Endpoints) {
		p := s.start("run", "all")
		s.settled(p)
		before := p.holds(free[0].String())
		s.add(zips)
		s.strike(time.Duration(seconds) * time.Second)
		s.allFetched(p)
		s.allOrdered(p)
		const few = 8 // of polls and connections that come and go
		eventually(t, wait.Patience(), func() string {
			now := p.holds(free[0].String())
			if now.goroutines > before.goroutines+few || now.descriptors > before.descriptors+few {
				return fmt.Sprintf("the process has %+v, and had %+v before", now, before)
			}
			t.Logf("%d files; the process has %+v, and had %+v before", len(s.corpus.Oracle.Files), now, before)
			return ""
		})
		p.stop()
	})
	hungUp(t, s.rig.Servers())
	for id, server := range s.rig.Servers() {
		_, most, total := server.Sessions()
		t.Logf("%s: %d sessions, %d at once", id, total, most)
		if most > allowed {
			t.Errorf("the server of %s had %d sessions at once, and allows %d", id, most, allowed)
		}
	}
}

// allFetched waits until every file of the corpus is known, and none waits to be
// fetched, or failed in that.
func (s *system) allFetched(running *process) {
	s.t.Helper()
	type count struct{ Known, Unfetched int64 }
	eventually(s.t, wait.Patience(), func() string {
		select {
		case <-running.done:
			s.t.Fatalf("tributary %s has ended: %v\n%s", running.name, running.err, running.tail())
		default:
		}
		now, err := queried[count](s, "SELECT count(*) AS known, count(*) FILTER (WHERE phase = 'download') AS unfetched FROM tracker.file")
		if err != nil {
			return err.Error()
		}
		if now[0].Unfetched > 0 || now[0].Known != int64(len(s.corpus.Oracle.Files)) {
			return fmt.Sprintf("%d files are to be fetched: %+v", len(s.corpus.Oracle.Files), now[0])
		}
		return ""
	})
}

// holding is what a process holds, but for the folders of its blobs: it keeps those open
// that it has used, 256 at most.
type holding struct{ goroutines, descriptors int }

// holds asks a process that serves its metrics.
func (p *process) holds(address string) (h holding) {
	p.t.Helper()
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if rest, is := strings.CutPrefix(lines.Text(), "go_goroutines "); is {
			_, err = fmt.Sscan(rest, &h.goroutines)
		}
	}
	if err != nil || h.goroutines == 0 {
		p.t.Fatalf("the metrics tell no number of goroutines: %v", err)
	}
	all := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	open, err := os.ReadDir(all)
	if err != nil {
		p.t.Skipf("the descriptors of a process can't be counted here: %v", err)
	}
	for _, d := range open {
		if of, err := os.Readlink(filepath.Join(all, d.Name())); err == nil && !strings.Contains(of, "/blobs/") {
			h.descriptors++
		}
	}
	return h
}

// strike lets something befall each server, something else each second or so, and puts
// all right in the end.
func (s *system) strike(lasting time.Duration) {
	s.t.Helper()
	rng := rand.New(rand.NewPCG(seed(s.t), 0x6f7574))
	over, next := time.NewTimer(lasting), time.NewTicker(time.Second)
	defer over.Stop()
	defer next.Stop()
	files := slices.Sorted(maps.Keys(s.shown()))
	for {
		for _, id := range slices.Sorted(maps.Keys(s.rig.Servers())) {
			server := s.rig.Servers()[id]
			s.heal(id, server, files)
			switch rng.IntN(5) {
			case 0: // away
				server.LimitSessions(-1)
				server.Drop()
			case 1:
				server.LimitSessions(1)
			case 2:
				server.Refuse("add")
			case 3:
				each(id, files, rng, server.Refuse)
			default:
				each(id, files, rng, server.Gone)
			}
		}
		select {
		case <-over.C:
			for id, server := range s.rig.Servers() {
				s.heal(id, server, files)
			}
			return
		case <-next.C:
		}
	}
}

// each does something to a third of a source's files.
func each(id string, files []string, rng *rand.Rand, do func(path string)) {
	for _, path := range files {
		if below, is := strings.CutPrefix(path, id+"/"); is && rng.IntN(3) == 0 {
			do(below)
		}
	}
}

// heal takes away what befell a server.
func (s *system) heal(id string, server *servers.FaultySFTP, files []string) {
	server.LimitSessions(0)
	server.Heal("add")
	for _, path := range files {
		if below, is := strings.CutPrefix(path, id+"/"); is {
			server.Heal(below)
		}
	}
}
