package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
	"tributary/test/wait"
)

// Two sources have two names of one server, which so has twice the sessions that it
// allows. While all of them fetch, one source is told to be counted as the other: once
// what was begun too much has ended, the server never has more than it allows again,
// by its own count, whoever's sessions end first.
func TestTwoNamesOfOneServer(t *testing.T) {
	t.Parallel()
	long(t, "TestAServerIsNamedWhileWorkEnds")
	const one, other, elsewhere = "gmc", "jax", "tcp"
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true,
		Extra: withPlan("  job_files: 1\n  max_sessions: 2\n") + "download:\n  idle_timeout: 1h\n  rate_grace: 1h\n  detach_after: 1h\n  stall: 1h\n"})
	own := filepath.Join(s.dir, "servers", "both")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := servers.StartFaultySFTP(t.Context(), servers.FaultySFTPOptions{Dir: own, Root: s.sources()})
	servers.Need(t, err)
	t.Cleanup(server.Stop)
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	named := string(text)
	for id, host := range map[string]string{one: "127.0.0.1", other: "localhost"} {
		url := strings.Replace(server.URL("/"+id), "127.0.0.1", host, 1)
		named = strings.Replace(named, "url: file://"+filepath.Join(s.sources(), id)+"\n",
			"url: "+url+"\n    identity_file: "+server.IdentityFile+"\n    host_key: ['"+ssh.FingerprintSHA256(server.HostKey)+"']\n", 1)
	}
	head, sources, _ := strings.Cut(named, "\nsources:\n")
	s.rewrite(head)
	all := filepath.Join(s.dir, "sources.yaml")
	if err := os.WriteFile(all, []byte("sources:\n"+sources), 0o644); err != nil {
		t.Fatal(err)
	}
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish", "poll", "download", "download", "unzip validate sequence insert", "tracker history")
		s.ask("sources", "apply", "-f", all)
		s.settled(members...)

		s.ask("sources", "maintain", one, other)
		known := s.shown()
		s.add(40)
		stalled := map[string][]string{}
		for path := range s.shown() {
			if id, _, _ := strings.Cut(path, "/"); !known[path] && (id == one || id == other) {
				server.Stall(path)
				stalled[id] = append(stalled[id], path)
			}
		}
		s.ask("sources", "resume", one, other)
		s.fetching(map[string]int64{server.Addr: 2, strings.Replace(server.Addr, "127.0.0.1", "localhost", 1): 2}, server)

		s.ask("sources", "edit", other, "server="+server.Addr, "--reason", "the same server")
		s.fetching(map[string]int64{server.Addr: 4}, server)
		for _, path := range stalled[one] {
			server.Heal(path)
		}
		s.fetching(map[string]int64{server.Addr: 2}, server)
		server.CountAnew()
		s.elsewhereGoesOn(elsewhere)
		if open, most, _ := server.Sessions(); open != 2 || most > 2 {
			t.Errorf("the server has %d sessions, and had %d at once, though it allows two, which were open already", open, most)
		}
		for _, path := range stalled[other] {
			server.Heal(path)
		}
		s.settled(members...)
		s.tellsTheServer(other, server.Addr, all)
		for _, m := range members {
			m.stop()
		}
	})
	hungUp(t, map[string]*servers.FaultySFTP{one: server})
	if _, most, total := server.Sessions(); most != 2 {
		t.Errorf("the server had %d sessions at once of %d, and allows two", most, total)
	}
}

// tellsTheServer expects that commands say as which server a source is counted, and
// that the file that once defined it would take that back.
func (s *system) tellsTheServer(id, server, file string) {
	s.t.Helper()
	for _, tt := range []struct {
		want string
		ask  []string
	}{
		{"its sessions are counted as those of " + server + "\n", []string{"sources", "show", id}},
		{" (counted as " + server + ")", []string{"sources"}},
		{"server: default → " + server, []string{"sources", "history", id}},
		{"    server: " + server + "\n", []string{"sources", "export", id}},
		{"server: " + server + " → default", []string{"sources", "apply", "-f", file, "--dry-run"}},
	} {
		if said := s.ask(tt.ask...); !strings.Contains(said, tt.want) {
			s.t.Errorf("tributary %s does not say %q:\n%s", strings.Join(tt.ask, " "), tt.want, said)
		}
	}
	s.ask("tracker", "verify")
}

// shown are the files that all sources show, below the folder of sources.
func (s *system) shown() map[string]bool {
	s.t.Helper()
	out := map[string]bool{}
	if err := fs.WalkDir(os.DirFS(s.sources()), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path] = true
		}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// fetching waits until control counts as many jobs as wanted under each name, and the
// server has as many sessions in all.
func (s *system) fetching(want map[string]int64, server *servers.FaultySFTP) {
	s.t.Helper()
	type jobs struct {
		Server string
		N      int64
	}
	eventually(s.t, wait.Patience(), func() string {
		rows, err := queried[jobs](s, "SELECT server, count(*) AS n FROM control.job GROUP BY server")
		if err != nil {
			return err.Error()
		}
		got, sum := map[string]int64{}, int64(0)
		for _, r := range rows {
			got[r.Server] = r.N
		}
		for _, n := range want {
			sum += n
		}
		if open, _, _ := server.Sessions(); int64(open) != sum {
			return fmt.Sprintf("%d sessions are open, and %d wanted; jobs are %v", open, sum, got)
		}
		return gocmp.Diff(want, got)
	})
}

// elsewhereGoesOn adds files and waits until those of a source are loaded: so whoever
// gives work out has looked at all that waits since.
func (s *system) elsewhereGoesOn(source string) {
	s.t.Helper()
	known := s.shown()
	s.add(8)
	want := map[string]string{}
	for path := range s.shown() {
		if id, file, _ := strings.Cut(path, "/"); id == source && !known[path] {
			want[file] = "done"
		}
	}
	type row struct{ File, Status string }
	eventually(s.t, wait.Patience(), func() string {
		rows, err := queried[row](s, "SELECT action || '/' || file AS file, status FROM tracker.file WHERE phase = 'overview'")
		if err != nil {
			return err.Error()
		}
		got := map[string]string{}
		for _, r := range rows {
			if want[r.File] != "" {
				got[r.File] = r.Status
			}
		}
		return gocmp.Diff(want, got)
	})
}
