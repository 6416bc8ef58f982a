package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// before is a program of before.
type before struct {
	commit  string
	beside  bool // its members can run beside those of today
	chained bool // its positions name the ones before
}

// programs are those that were landed last before the engines had an owner's
// door, before positions were a chain, and before the packages got their floors.
// Members of the first look for engines at TCP addresses, where no engine of today
// listens. With TRIBUTARY_UPGRADE=1 the last is taken alone.
var programs = []before{{commit: "8d5a04c"}, {commit: "e642450", beside: true}, {commit: "e0b2e02", beside: true, chained: true}}

// system is an installation on which two programs take turns.
type system struct {
	t        *testing.T
	dir      string
	rig      *rig.Rig
	old, new string // binaries
	held     [][]string
	started  int
}

const settings = `
schedule: {interval: 3s, tick: 200ms, jitter: 0}
poll: {settle: 0s}
sequence: {interval: 200ms, late_limit: 1s}
tracker: {wait: 200ms}
history: {wait: 200ms}
`

// setUp builds both programs, and an installation of local sources whose files are held
// back in so many groups.
func setUp(t *testing.T, from before, zips, groups int) *system {
	t.Helper()
	return setUpServed(t, from, zips, groups, rig.Options{Local: true, Extra: settings})
}

// setUpServed is setUp with a rig of its own.
func setUpServed(t *testing.T, from before, zips, groups int, o rig.Options) *system {
	t.Helper()
	if os.Getenv("TRIBUTARY_UPGRADE") == "" {
		t.Skip("takes minutes: run make test-upgrade")
	}
	found, err := install.Locate("")
	if err != nil {
		t.Fatalf("look for engines: %v", err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, fmt.Sprint(missing))
	}
	dir, err := os.MkdirTemp("", "trib-u-") // short, as paths of sockets must be
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &system{t: t, dir: dir, new: filepath.Join(dir, "tributary")}
	t.Cleanup(func() {
		// Engines that were killed may still be going down.
		if last := await(wait.Patience(), func() string { return said(os.RemoveAll(dir)) }); last != "" {
			t.Error(last)
		}
	})
	root := strings.TrimSpace(s.run("", "go", "list", "-m", "-f", "{{.Dir}}"))
	s.buildBefore(root, from.commit)
	if built := os.Getenv("TRIBUTARY_BINARY"); built != "" {
		s.new = built
	} else {
		s.run(root, "go", "build", "-o", s.new, "./cmd/tributary")
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: zips})
	if err != nil {
		t.Fatal(err)
	}
	if s.rig, err = rig.Start(t.Context(), dir, c, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.rig.Stop)
	s.configureBefore()
	files, err := filepath.Glob(filepath.Join(dir, "sources", "*", "*", "*.zip"))
	if err != nil || len(files) != zips {
		t.Fatalf("%d files of %d: %v", len(files), zips, err)
	}
	s.held = make([][]string, groups)
	for i, f := range files {
		s.held[i%groups] = append(s.held[i%groups], f)
		if err := os.Rename(f, s.aside(f)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *system) aside(file string) string { return filepath.Join(s.dir, filepath.Base(file)) }

// show lets the next group of files appear, and returns how many they are.
func (s *system) show() int {
	s.t.Helper()
	group := s.held[0]
	s.held = s.held[1:]
	for _, f := range group {
		if err := os.Rename(s.aside(f), f); err != nil {
			s.t.Fatal(err)
		}
	}
	return len(group)
}

// buildBefore builds the program before from the repository's history, once for each
// commit: it is kept in the user's cache. A clone may have no history: then there is
// nothing to compare with.
func (s *system) buildBefore(root, commit string) {
	s.t.Helper()
	if out, err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		s.t.Skipf("this clone does not hold the commit %s, from which the program before is built: %v %s", commit, err, out)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		s.t.Fatal(err)
	}
	s.old = filepath.Join(cache, "tributary", "before-"+commit)
	building.Lock()
	defer building.Unlock()
	if _, err := os.Stat(s.old); err == nil {
		return
	}
	source := filepath.Join(s.dir, "source")
	if err := errors.Join(os.Mkdir(source, 0o755), os.MkdirAll(filepath.Dir(s.old), 0o755)); err != nil {
		s.t.Fatal(err)
	}
	s.run(root, "git", "archive", "-o", filepath.Join(s.dir, "source.tar"), commit)
	s.run(source, "tar", "-xf", filepath.Join(s.dir, "source.tar"))
	part := fmt.Sprintf("%s.%d", s.old, os.Getpid())
	s.run(source, "go", "build", "-o", part, "./cmd/tributary")
	if err := errors.Join(os.RemoveAll(source), os.Rename(part, s.old)); err != nil {
		s.t.Fatal(err)
	}
}

// building is held while a program before is built, which two tests may want at once.
var building sync.Mutex

// run runs a program to its end, which must be a good one.
func (s *system) run(dir, name string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// member is a running process; its log goes to a file.
type member struct {
	s    *system
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// start starts a program with a command.
func (s *system) start(binary string, args ...string) *member {
	s.t.Helper()
	s.started++
	m := &member{s: s, name: filepath.Base(binary) + " " + strings.Join(args, " "), log: filepath.Join(s.dir, fmt.Sprintf("%02d.log", s.started)), done: make(chan struct{})}
	log, err := os.Create(m.log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	m.cmd = exec.Command(binary, append(args, "--config", s.config(binary))...)
	m.cmd.Dir, m.cmd.Stdout, m.cmd.Stderr = s.dir, log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.cmd.Wait() // how it ended is in its state
	}()
	s.t.Cleanup(func() {
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-m.done:
		case <-time.After(wait.Patience()):
			_ = syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL)
			<-m.done
		}
	})
	return m
}

// config is the configuration that a program reads.
func (s *system) config(binary string) string {
	if binary == s.new {
		return s.rig.Config
	}
	return filepath.Join(s.dir, "before.yaml")
}

// configureBefore writes what the program before reads, which knows no hosts. It
// is written once: processes that were started a moment ago may still read it.
func (s *system) configureBefore() {
	s.t.Helper()
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool { return strings.HasPrefix(line, "    hosts:") })
	if err := os.WriteFile(s.config(s.old), []byte(strings.Join(lines, "")), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// engines starts a program's engines, and waits for them.
func (s *system) engines(binary string) *member {
	s.t.Helper()
	m := s.start(binary, "engines")
	s.must("engines", func() string { return said(s.ask(func(context.Context, *pgx.Conn) error { return nil })) })
	return m
}

// stop stops members in order.
func stop(members ...*member) {
	for _, m := range members {
		m.s.t.Helper()
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
		<-m.done
		if code := m.cmd.ProcessState.ExitCode(); code != 0 {
			m.s.t.Fatalf("%s ended with %d\n%s", m.name, code, m.text())
		}
	}
}

func (m *member) text() string {
	b, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}

// says is a condition: the log has a text.
func (m *member) says(text string) func() string {
	return func() string {
		if b, err := os.ReadFile(m.log); err != nil || !bytes.Contains(b, []byte(text)) {
			return fmt.Sprintf("%s does not say %q:\n%s", m.name, text, m.text())
		}
		return ""
	}
}

// ended is a condition: the process has ended with an exit code.
func (m *member) ended(code int) func() string {
	return func() string {
		select {
		case <-m.done:
			if got := m.cmd.ProcessState.ExitCode(); got != code {
				return fmt.Sprintf("%s ended with %d, want %d:\n%s", m.name, got, code, m.text())
			}
			return ""
		default:
			return m.name + " runs:\n" + m.text()
		}
	}
}

func (s *system) endpoints() (e struct {
	Kafka    []string
	Postgres string
}, err error) {
	b, err := os.ReadFile(filepath.Join(s.dir, "data", "engines.json"))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(b, &e)
}

func (s *system) ask(do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience())
	defer cancel()
	at, err := s.endpoints()
	if err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, at.Postgres)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return do(ctx, c)
}

// number is what a query counts.
func (s *system) number(sql string) (n int64, err error) {
	err = s.ask(func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, sql).Scan(&n) })
	return n, err
}

// counts is a condition: a query counts so many.
func (s *system) counts(want int, sql string) func() string {
	return func() string {
		n, err := s.number(sql)
		if err != nil || n != int64(want) {
			return fmt.Sprintf("%s: %d, want %d, %v", sql, n, want, err)
		}
		return ""
	}
}

// order reads the whole of document.ordered.
func (s *system) order() (all []*kgo.Record) {
	s.t.Helper()
	at, err := s.endpoints()
	if err != nil {
		s.t.Fatal(err)
	}
	socket := strings.TrimPrefix(at.Kafka[0], "unix:")
	c, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:9"), kgo.ConsumeTopics("tributary.document.ordered.v1"), kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	last, err := s.number("SELECT next_position - 1 FROM warehouse.state")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), wait.Patience())
	defer cancel()
	for int64(len(all)) < last {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			s.t.Fatalf("document.ordered has %d records, and %d positions were applied", len(all), last)
		}
		all = slices.AppendSeq(all, fetches.RecordsAll())
	}
	return all
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *system) must(what string, check func() string) {
	s.t.Helper()
	if last := await(wait.Patience(), check); last != "" {
		s.t.Fatalf("%s: %s", what, last)
	}
}

// await waits until check returns nothing, and returns what it said last.
func await(limit time.Duration, check func() string) string {
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		last := check()
		if last == "" {
			return ""
		}
		select {
		case <-over.C:
			return last
		case <-tick.C:
		}
	}
}
