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
// work one is edited (where its key lies), put into maintenance and resumed, removed
// and added again, and others are replaced by a list: files arrive, no member
// restarts, no server ever has more sessions than it allows, and the tracker tells
// what was done. A round with a configuration of no sources then polls them all.
func TestSourcesAreData(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute: skipped with -short")
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Counted: true, Extra: withPlan("  max_sessions: 2\n")})
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	head, sources, _ := strings.Cut(string(text), "\nsources:\n")
	s.rewrite(head)
	all := filepath.Join(s.dir, "sources.yaml")
	if err := os.WriteFile(all, []byte("sources:\n"+sources), 0o644); err != nil {
		t.Fatal(err)
	}
	id := s.corpus.Sources[0].ID
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
		s.ask("sources", "apply", "-f", all, "--reason", "all at once")
		s.settled(members...)

		key := filepath.Join(s.dir, "moved-key")
		server := s.rig.Servers()[id]
		if err := os.Rename(server.IdentityFile, key); err != nil {
			t.Fatal(err)
		}
		s.ask("sources", "edit", id, "identity_file="+key)
		more()
		s.settled(members...)
		if diff := gocmp.Diff([]string{"configuration", "resolve", "connect", "host_key", "login", "list", "list", "list", "sample"}, s.passed(id)); diff != "" {
			t.Errorf("the check of %s passed these steps (- wanted, + kept):\n%s", id, diff)
		}

		s.ask("sources", "maintain", id)
		s.ask("sources", "edit", id, "max_sessions=1")
		more()
		s.ask("sources", "resume", id)
		s.settled(members...)

		s.ask("sources", "remove", id, "--reason", "by mistake")
		more()
		exported := filepath.Join(s.dir, "exported.yaml")
		if err := os.WriteFile(exported, []byte(strings.ReplaceAll("sources:\n"+sources, server.IdentityFile, key)), 0o644); err != nil {
			t.Fatal(err)
		}
		s.ask("sources", "apply", "-f", exported, "--prune")
		s.settled(members...)

		type revision struct {
			State    string
			Message  string
			Declared bool
		}
		var told []string
		for _, r := range list[revision](s, "sources", "history", id) {
			by, reason, _ := strings.Cut(r.Message, ": ")
			told = append(told, strings.TrimSpace(r.State+" "+strings.Fields(by)[0]+" "+reason))
		}
		want := []string{"available added all at once", "available changed", "maintenance put", "maintenance changed", "available resumed", "removed removed by mistake", "available added"}
		if d := gocmp.Diff(want, told); d != "" {
			t.Errorf("the tracker's history of %s (- done, + told):\n%s", id, d)
		}
		s.ask("tracker", "verify")
		for _, m := range members {
			m.stop()
		}
	})
	for id, server := range s.rig.Servers() {
		if open, most, _ := server.Sessions(); most > serverLimit || open > 0 {
			t.Errorf("the server of %s had %d sessions at once, and allows %d; %d are still open", id, most, serverLimit, open)
		}
	}
	more()
	s.once()
	s.expect(false)
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
	if testing.Short() {
		t.Skip("takes half a minute: skipped with -short")
	}
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
			killed := false
			eventually(t, wait.Patience(), func() string {
				p := s.start("sources", "edit", "extra", "interval="+interval)
				commands++
				if !killed && !p.within(time.Duration(rng.Int64N(int64(700*time.Millisecond)))) && s.killPostgres() {
					killed = true
					kills++
				}
				if code := p.code(wait.Patience()); code != 0 {
					return fmt.Sprintf("exit code %d\n%s", code, p.tail())
				}
				return ""
			})
		}
		if t.Logf("Postgres was killed %d times, and %d commands were given", kills, commands); kills == 0 {
			t.Error("Postgres was never killed")
		}
		type revision struct{ Definition string }
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
