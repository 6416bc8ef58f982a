package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/turns"
	"tributary/test/wait"
)

// chaosLimit is how many sessions a server allows, polls included.
const chaosLimit = 2

// hasty makes what heals by itself do so in seconds.
const hasty = `schedule:
  interval: 1s
  jitter: 0
  tick: 100ms
poll:
  settle: 0s
  timeout: 20s
  connect_timeout: 3s
  idle_timeout: 5s
plan:
  max_sessions: 2
  backoff: 200ms
  backoff_max: 2s
  retry_failed: 5s
  silence_budget: 10s
download:
  connect_timeout: 3s
  idle_timeout: 5s
sequence:
  poll_cutoff: 15s
  release_limit: 30s
  late_limit: 1s
publish:
  lease_ttl: 4s
insert:
  lease_ttl: 2s
tracker:
  wait: 500ms
history:
  wait: 500ms
kafka:
  session_timeout: 6s
`

// wide lets eight members of a group share its work.
const wide = "  partitions: 8\n"

// smallDisk is the size of the filesystem that is filled, in MB.
const smallDisk = 300

// Separate processes on real engines, two of every role and in the runs of each
// third seed eight of every group, under faults drawn from the seed; in one run
// of five all files are replayed meanwhile, and in one of four a person has sources
// left alone, resumed and polled. When faults stop, everything comes to
// its end with nobody's help but a supervisor's, and what is in warehouse,
// tracker, history and log is what an undisturbed run gives; and the program
// itself proves warehouse, tracker and history equal to what they are made from.
func TestChaos(t *testing.T) {
	runs := int(number(t, "TRIBUTARY_CHAOS", 0))
	if runs == 0 {
		t.Skip("takes minutes: make chaos runs it")
	}
	turns.Take(t)
	length := 15 * time.Second
	if text := os.Getenv("TRIBUTARY_CHAOS_FAULTS"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("TRIBUTARY_CHAOS_FAULTS: %v", err)
		}
	}
	kind := os.Getenv("TRIBUTARY_CHAOS_KIND")
	kinds := []string{kind}
	switch {
	case kind == "" || kind == "all":
		kind, kinds = "all", faultKinds()
	case !slices.Contains(faultKinds(), kind):
		t.Fatalf("TRIBUTARY_CHAOS_KIND is %q: use one of %v, or all", kind, faultKinds())
	}
	if os.Geteuid() != 0 && len(kinds) == 1 && kind == faultDisk {
		t.Skip("a small filesystem can't be mounted, which root can")
	}
	program(t) // built once, outside of any run
	c := openCampaign(t)
	made, violations := 0, 0
	for i := range runs {
		from := seed(t) + uint64(i)
		name := fmt.Sprintf("%s/seed=%d/%s", kind, from, length)
		if !c.due(name) {
			continue
		}
		made++
		ok := t.Run(name, func(t *testing.T) { runChaos(&complaining{TB: t, name: name, of: c}, from, kinds, length) })
		if !ok {
			violations++
		}
		c.ended(name, ok)
	}
	c.summary(t, fmt.Sprintf("%d runs, %d violations", made, violations))
}

// runChaos is one run.
func runChaos(t testing.TB, from uint64, kinds []string, length time.Duration) {
	extra, parts := hasty, twice()
	if from%3 == 0 {
		extra, parts = hasty+wide, eightfold()
	}
	s := setUp(t, corpus.Options{Seed: from, Shape: corpus.Demo}, rig.Options{Counted: true, Extra: extra})
	s.fromNothing = true // faults strike also who begins
	c := &chaos{kinds: slices.Clone(kinds), rng: rand.New(rand.NewPCG(from, 0x6368616f73)), cut: map[string]time.Time{}, held: map[string]int{}}
	if slices.Contains(kinds, faultDisk) {
		if err := s.limitDisk(); err != nil {
			if len(kinds) == 1 {
				t.Fatalf("a small filesystem can't be mounted: %v", err)
			}
			t.Logf("without a full disk: %v", err)
			c.kinds = slices.DeleteFunc(c.kinds, func(k string) bool { return k == faultDisk })
		} else {
			c.limited = true
		}
	}
	if enginetest.KafkaAddrs() != nil {
		c.cluster = s.threeBrokers() // others may need the one that is named
	}
	f := newFleet(s, parts)
	c.f = f
	if replaysOf(from) {
		c.replays = &replaying{next: time.Now().Add(length / 3)}
	}
	if ordersOf(from) {
		c.orders = &ordering{rng: rand.New(rand.NewPCG(from, 0x6f7264657273)), next: time.Now().Add(length / 5), done: map[string]int{}}
	}
	t.Logf("seed %d, faults for %s on %d processes: %v", from, length, len(f.slots), c.kinds)
	f.serve()
	c.run(length)

	if left := f.drained(wait.Patience()); left != "" {
		t.Fatalf("seed %d: not at its end %s after the faults have stopped: %s\n%s", from, wait.Patience(), left, f.tails())
	}
	f.say("everything has come to its end")
	f.stop()
	// Which of a file's hostings served it depends on which could.
	for i, file := range s.corpus.Oracle.Files {
		if len(file.Sources) > 0 {
			s.corpus.Oracle.Files[i].Sources = nil
			for _, source := range s.corpus.Sources {
				s.corpus.Oracle.Files[i].Sources = append(s.corpus.Oracle.Files[i].Sources, source.ID)
			}
		}
	}
	// What the stop left in outboxes and projections is finished by a round.
	s.once()
	var after outcome
	beside := []func() func(){s.proving}
	if c.replays != nil {
		s.corpus.Oracle.Warehouse = nil // it tells of claims, which replays make anew
		beside = append(beside, func() func() { return func() { s.replayed(); after = s.outcome() } })
	}
	got := s.expect(false, beside...)
	late := s.latePolls()
	for id, server := range s.rig.Servers() {
		if _, most, _ := server.Sessions(); most > chaosLimit+c.held[id]+late[id] {
			t.Errorf("the server of %s had %d sessions at once, %d are allowed, stopped processes held %d, and those late for their lease %d",
				id, most, chaosLimit, c.held[id], late[id])
		}
	}
	if t.Failed() {
		return
	}
	s.unlimitDisk()
	s.on, s.embedded = nil, true
	s.forget()
	s.once()
	s.engines(func(engine.Endpoints) {
		if hash := s.hash(); hash != got.Hash {
			t.Errorf("seed %d: warehouse hash %s, of an undisturbed run %s", from, got.Hash, hash)
		}
		if c.replays == nil {
			return
		}
		if diff := gocmp.Diff(s.outcome(), after); diff != "" {
			t.Errorf("seed %d: findings (-undisturbed +with replays):\n%s", from, diff)
		}
	})
}

// latePolls counts, by source, the most members that were late for the lease of
// one poll, and found that another had taken it over: to the rest they were
// stopped processes, though only the machine was too busy for them.
func (s *system) latePolls() map[string]int {
	s.t.Helper()
	logs, err := filepath.Glob(filepath.Join(s.dir, "*-run.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	type poll struct{ Msg, Source, Session string }
	count, most := map[poll]int{}, map[string]int{}
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var p poll
			if json.Unmarshal(line, &p) != nil || !strings.HasPrefix(p.Msg, "the poll was taken over by another member") {
				continue
			}
			count[p]++
			most[p.Source] = max(most[p.Source], count[p])
		}
	}
	return most
}

// limitDisk puts data_dir on a small filesystem in memory.
func (s *system) limitDisk() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	if err := os.MkdirAll(s.data(), 0o711); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", s.data(), "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0711", smallDisk)); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	s.t.Cleanup(s.unlimitDisk)
	return nil
}

// unlimitDisk takes the small filesystem away, with all that is on it. Nothing
// happens if there is none.
func (s *system) unlimitDisk() {
	_ = syscall.Unmount(s.data(), syscall.MNT_DETACH)
}
