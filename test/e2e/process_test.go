package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tributary/test/wait"
)

// process is a running tributary. Its logs go to a file of its own.
type process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	out  string // the file of what it writes
	log  string
	done chan struct{}
	err  error           // once done
	has  map[string]bool // what its log was seen to have
}

// start runs a command of the program under test in a process group of its own.
// What still runs at the end of the test is killed.
func (s *system) start(args ...string) *process {
	s.t.Helper()
	if !s.fromNothing && s.brokers() == nil {
		if err := beginning.Copy(program(s.t), s.data()); err != nil {
			s.t.Fatal(err)
		}
	}
	s.started++
	p := &process{t: s.t, name: strings.Join(args, " "), done: make(chan struct{}),
		log: filepath.Join(s.dir, fmt.Sprintf("%02d-%s.log", s.started, strings.Trim(args[0], "-")))}
	p.out = strings.TrimSuffix(p.log, ".log") + ".out"
	log, err := os.Create(p.log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	// Through a pipe its output would be cut off, or its children waited for,
	// which may hold it open.
	out, err := os.Create(p.out)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(s.binary, append(args, "--config", s.rig.Config)...)
	p.cmd.Dir = s.dir
	p.cmd.Env = append(os.Environ(), s.env()...)
	p.cmd.Stdout, p.cmd.Stderr = out, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatalf("start tributary %s: %v", p.name, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	s.t.Cleanup(func() { p.kill(true) })
	return p
}

// code waits for the end and returns the exit code. A process that takes longer
// than limit is killed and fails the test.
func (p *process) code(limit time.Duration) int {
	p.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		// Its goroutines go to the log.
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
		}
		p.kill(true)
		p.t.Fatalf("tributary %s has not ended after %s\n%s", p.name, limit, p.tail())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop asks the process to stop in order, and expects that it does so well.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.code(wait.Patience()); code != 0 {
		p.t.Errorf("tributary %s: exit code %d after SIGTERM\n%s", p.name, code, p.tail())
	}
}

// kill kills the process with SIGKILL, and all below it at the same moment if
// tree is set; otherwise the kernel and the next start deal with these. It
// returns when the process itself is gone, and says if it was running.
func (p *process) kill(tree bool) bool {
	select {
	case <-p.done:
		return false
	default:
	}
	pids := []int{p.cmd.Process.Pid}
	if tree {
		pids = append(pids, below(pids[0])...)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.done
	return p.cmd.ProcessState.ExitCode() < 0
}

// output is what the process has written to standard output.
func (p *process) output() string {
	b, err := os.ReadFile(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// said tells whether the log has the given text.
func (p *process) said(what string) bool {
	if p.has[what] {
		return true // who waits for something else asks again and again
	}
	b, err := os.ReadFile(p.log)
	if err != nil || !bytes.Contains(b, []byte(what)) {
		return false
	}
	if p.has == nil {
		p.has = map[string]bool{}
	}
	p.has[what] = true
	return true
}

// tail is the end of the process's log, with what matters: long runs of
// ordinary messages are cut.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"level":"INFO"`) })
	return fmt.Sprintf("%s\n%s: %s", p.output(), p.log, strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

// below lists all descendants of a process.
func below(pid int) []int {
	children := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if parent, _, ok := status(id); ok {
			children[parent] = append(children[parent], id)
		}
	}
	var out []int
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		out = append(out, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return out
}

// status is the parent and the state (R, S, T for stopped, …) of a process. It
// is not ok if the process has just ended.
func status(pid int) (parent int, state string, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", false
	}
	// pid (name) state ppid …, and a name may hold anything.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 2 {
		return 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[0], err == nil
}

// eventually waits until check returns nothing, looking often; what it returned
// last fails the test when the time is over.
func eventually(t testing.TB, limit time.Duration, check func() string) {
	t.Helper()
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		begun := time.Now()
		last := check()
		if last == "" {
			return
		}
		select {
		case <-over.C:
			t.Fatalf("still not so after %s: %s", limit, last)
		// Who asks takes the processor from what is waited for, most by starting a command.
		case <-time.After(max(100*time.Millisecond, 2*time.Since(begun))):
		}
	}
}
