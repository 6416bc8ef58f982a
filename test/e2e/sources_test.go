package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// Eight members run without a source. All sources are then added, and while they
// work one is edited (where its key and its files lie), put into maintenance, resumed,
// suspended, removed and added again, and others are replaced by a list: files arrive or
// stay where they are, no member restarts, no server ever has more sessions than it
// allows, and the tracker tells what was done. A round with a configuration of no sources
// then polls them all.
func TestSourcesAreData(t *testing.T) {
	t.Parallel()
	long(t, "TestSourcesAreDefinedByPeople", "TestApply", "TestASourceInMaintenanceIsLeftAlone")
	sourcesAreData(t, func(s *system) func(...string) { return func(args ...string) { s.ask(args...) } })
}

// The same while Postgres is killed beside many of the commands, which people then give
// again until they say that it is done: nothing is done twice, or told twice.
func TestSourcesAreDataWhilePostgresDies(t *testing.T) {
	t.Parallel()
	if os.Getenv(killsEnv) == "" {
		t.Skip("takes a minute: make test-kill runs it")
	}
	rng := rand.New(rand.NewPCG(seed(t), 0x656967687420))
	kills := 0
	sourcesAreData(t, func(s *system) func(...string) {
		return func(args ...string) {
			s.t.Helper()
			if _, killed := s.insist(rng, args...); killed {
				kills++
			}
		}
	})
	if t.Logf("Postgres was killed %d times", kills); kills == 0 {
		t.Error("Postgres was never killed")
	}
}

// sourcesAreData orders what people order, as by says.
func sourcesAreData(t *testing.T, by func(*system) func(...string)) {
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Counted: true, Extra: withPlan("  max_sessions: 2\n")})
	order := by(s)
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	head, sources, _ := strings.Cut(string(text), "\nsources:\n")
	s.rewrite(head)
	write := func(name, sources string) (path string) {
		t.Helper()
		path = filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte("sources:\n"+sources), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	id := s.corpus.Sources[0].ID
	server := s.rig.Servers()[id]
	more := func() {
		t.Helper()
		if err := s.corpus.Add(9); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
	}
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish", "poll", "poll", "download", "download", "unzip validate", "sequence insert", "tracker history")
		order("sources", "apply", "-f", write("sources.yaml", sources), "--reason", "all at once")
		s.settled(members...)

		key := filepath.Join(s.dir, "moved-key")
		if err := errors.Join(os.Rename(server.IdentityFile, key), os.Symlink(".", filepath.Join(s.dir, "sources", id, "moved"))); err != nil {
			t.Fatal(err)
		}
		order("sources", "edit", id, "identity_file="+key, "url="+server.URL("/moved"))
		more()
		s.settled(members...)
		if diff := gocmp.Diff([]string{"configuration", "resolve", "connect", "host_key", "login", "list", "list", "list", "sample"}, s.passed(id)); diff != "" {
			t.Errorf("the check of %s passed these steps (- wanted, + kept):\n%s", id, diff)
		}

		order("sources", "maintain", id)
		order("sources", "edit", id, "max_sessions=1")
		s.leftAlone(id, more)
		order("sources", "resume", id)
		s.settled(members...)

		order("sources", "edit", id, "max_entries=1")
		s.waits(id+" is not suspended", fmt.Sprintf("SELECT state = 'suspended' AS so FROM control.source WHERE id = '%s'", id), nil)
		order("sources", "edit", id, "max_entries=") // it is polled anew, which shows no more than is allowed
		more()
		s.settled(members...)

		order("sources", "remove", id, "--reason", "by mistake")
		s.leftAlone(id, more)
		order("sources", "apply", "-f", write("exported.yaml", strings.ReplaceAll(sources, server.IdentityFile, key)), "--prune")
		s.settled(members...)

		want := []string{"available added all at once", "available changed", "maintenance put", "maintenance changed", "available resumed", "available changed",
			"suspended", "suspended changed", "available", "removed removed by mistake", "available added"}
		if d := gocmp.Diff(want, s.wasTold(id)); d != "" {
			t.Errorf("the tracker's history of %s (- done, + told):\n%s", id, d)
		}
		s.ask("tracker", "verify")
		for _, m := range members {
			m.stop()
		}
	})
	hungUp(t, s.rig.Servers())
	for id, server := range s.rig.Servers() {
		if _, most, _ := server.Sessions(); most > serverLimit {
			t.Errorf("the server of %s had %d sessions at once, and allows %d", id, most, serverLimit)
		}
	}
	more()
	s.once()
	s.expect(false)
}

// leftAlone expects that no session of a source is opened any more, once those have
// ended that are under way, while others are polled after something has happened.
func (s *system) leftAlone(id string, happens func()) {
	s.t.Helper()
	server := s.rig.Servers()[id]
	s.waits(id+" is still polled", fmt.Sprintf("SELECT count(*) = 0 AS so FROM control.poll WHERE source = '%s' AND state = 'running'", id), func() bool {
		open, _, _ := server.Sessions()
		return open == 0
	})
	_, _, before := server.Sessions()
	happens()
	s.waits("no other source is polled", fmt.Sprintf("SELECT count(*) > 0 AS so FROM control.poll WHERE source <> '%s' AND state = 'complete' AND started_at > '%s'",
		id, time.Now().UTC().Format(time.RFC3339Nano)), nil)
	if _, _, now := server.Sessions(); now > before {
		s.t.Errorf("%d sessions of %s were opened", now-before, id)
	}
}

// wasTold is what the tracker tells of how a source was: its state, what was done, and
// why a person said so.
func (s *system) wasTold(id string) (told []string) {
	s.t.Helper()
	type revision struct {
		State    string
		Message  string
		Declared bool
	}
	for _, r := range list[revision](s, "sources", "history", id) {
		if r.State == "suspended" && !strings.HasPrefix(r.Message, "changed") {
			told = append(told, r.State)
			continue
		}
		by, reason, _ := strings.Cut(r.Message, ": ")
		done, _, _ := strings.Cut(by, " ")
		told = append(told, strings.TrimSpace(r.State+" "+done+" "+reason))
	}
	return told
}

// members starts a process for each list of roles, and waits until all are running.
func (s *system) members(roles ...string) (members []*process) {
	s.t.Helper()
	for _, r := range roles {
		members = append(members, s.start(append([]string{"run"}, strings.Fields(r)...)...))
	}
	eventually(s.t, wait.Patience(), func() string {
		for _, m := range members {
			if !m.said(`"msg":"running"`) {
				return m.name + " is still starting"
			}
		}
		return ""
	})
	return members
}

// passed are the steps of a source's last check, which has passed as the source is
// defined now.
func (s *system) passed(id string) (steps []string) {
	s.t.Helper()
	var shown struct {
		Checked struct {
			Passed bool
			Steps  []struct{ Step string }
		}
	}
	text := s.ask("sources", "show", id, "-o", "json")
	if err := json.Unmarshal([]byte(text), &shown); err != nil || !shown.Checked.Passed || strings.Contains(s.ask("sources", "show", id), "defined otherwise") {
		s.t.Errorf("%s has not passed its check (%v): %s", id, err, text)
	}
	for _, step := range shown.Checked.Steps {
		steps = append(steps, step.Step)
	}
	return steps
}

// While Postgres is killed again and again, a source is edited by people who give a
// command again until it says that it is done: each change is made once, and told
// once.
func TestChangesOfSourcesWhilePostgresDies(t *testing.T) {
	t.Parallel()
	long(t, "TestChangesOfSeveralSourcesWaitInTurn")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: shortLeases})
	rng := rand.New(rand.NewPCG(seed(t), 0x736f7572636573))
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule publish", "tracker history")
		s.ask("sources", "add", "extra", "centre=H", "url=file://"+t.TempDir(), "interval=1000h")
		var want []string
		kills, commands := 0, 0
		for i := range 8 {
			interval := fmt.Sprintf("%dh", 1001+i)
			want = append(want, interval)
			n, killed := s.insist(rng, "sources", "edit", "extra", "interval="+interval)
			if commands += n; killed {
				kills++
			}
		}
		if t.Logf("Postgres was killed %d times, and %d commands were given", kills, commands); kills == 0 {
			t.Error("Postgres was never killed")
		}
		type revision struct{ Definition string }
		s.waits("the tracker doesn't know the source", "SELECT count(*) > 0 AS so FROM tracker.source_revision", nil)
		eventually(t, wait.Patience(), func() string {
			var told []string
			for _, r := range list[revision](s, "sources", "history", "extra") {
				var d struct{ Interval string }
				if err := json.Unmarshal([]byte(r.Definition), &d); err != nil {
					return err.Error()
				}
				told = append(told, d.Interval)
			}
			return gocmp.Diff(append([]string{"1000h"}, want...), told)
		})
		for _, m := range members {
			m.stop()
		}
	})
}

// insist gives a command again until it says that it is done, and kills Postgres once
// while it runs. It returns how often it was given, and whether Postgres was killed.
func (s *system) insist(rng *rand.Rand, args ...string) (given int, killed bool) {
	s.t.Helper()
	eventually(s.t, wait.Patience(), func() string {
		p := s.start(args...)
		given++
		if !killed && !p.within(time.Duration(rng.Int64N(int64(700*time.Millisecond)))) {
			killed = s.killPostgres()
		}
		if code := p.code(wait.Patience()); code != 0 {
			return fmt.Sprintf("tributary %s: exit code %d\n%s", p.name, code, p.tail())
		}
		return ""
	})
	return given, killed
}

// killPostgres kills the embedded Postgres, if it runs.
func (s *system) killPostgres() bool {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data(), "postgres", "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err2 := strconv.Atoi(strings.TrimSpace(line))
	if err = errors.Join(err, err2); err != nil {
		s.t.Fatal(err)
	}
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}
