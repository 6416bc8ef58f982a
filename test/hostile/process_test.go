package hostile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"tributary/test/wait"
)

// process is a running tributary. Its log goes to a file of its own.
type process struct {
	name string
	cmd  *exec.Cmd
	out  string // the file of what it writes
	log  string
	done chan struct{}
	most atomic.Int64 // memory, when it was killed for that
}

// start runs a command of the program under test in a process group of its own.
// What still runs at the end of the test is killed.
func (w *world) start(args ...string) *process {
	w.t.Helper()
	w.started++
	p := &process{name: strings.Join(args, " "), done: make(chan struct{}), log: filepath.Join(w.dir, fmt.Sprintf("%03d-%s.log", w.started, args[0]))}
	log, err := os.Create(p.log)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	// Through a pipe its output would be cut off, or its children waited for,
	// which may hold it open.
	p.out = strings.TrimSuffix(p.log, ".log") + ".out"
	out, err := os.Create(p.out)
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(w.binary, append(args, "--config", w.rig.Config)...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = w.dir, out, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatalf("start tributary %s: %v", p.name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in its state
	}()
	w.t.Cleanup(p.kill)
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// code waits for the end and returns the exit code; ok is false for a process
// that did not end within wait.Patience and was killed, with its goroutines in its log.
func (p *process) code() (code int, ok bool) {
	if !p.within(wait.Patience()) {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		p.within(10 * time.Second)
		p.kill()
		return -1, false
	}
	return p.cmd.ProcessState.ExitCode(), true
}

func (p *process) within(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// stop asks the process to stop in order, and returns what was wrong with that.
func (p *process) stop() string {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code, ok := p.code(); !ok || code != 0 {
		return fmt.Sprintf("tributary %s: exit code %d after SIGTERM, ended by itself: %v\n%s", p.name, code, ok, p.tail())
	}
	return ""
}

// kill kills the process and all below it.
func (p *process) kill() {
	if p.ended() {
		return
	}
	for _, pid := range append(below(p.cmd.Process.Pid), p.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.done
}

// peak is the most memory, in bytes, that the process had so far: the largest
// resident set, without that of Postgres and ClickHouse, which are processes of
// their own.
func (p *process) peak() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return p.most.Load()
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kB, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kB, 10, 64)
	return max(n<<10, p.most.Load())
}

// guard kills a process that takes so much memory that the machine would suffer.
func (p *process) guard() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
		}
		if now := p.peak(); now > 4*maxMemory {
			p.most.Store(now)
			p.kill()
			return
		}
	}
}

// said tells whether the log has the given text.
func (p *process) said(what string) bool {
	b, err := os.ReadFile(p.log)
	return err == nil && bytes.Contains(b, []byte(what))
}

// tail is the end of the process's log, without ordinary messages.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	text, _, _ := strings.Cut(string(b), "SIGQUIT: quit")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"level":"INFO"`) })
	for i, l := range lines {
		lines[i] = fmt.Sprintf("%.400s", l)
	}
	return fmt.Sprintf("%.2000s\n%s:\n%s", p.output(), p.log, strings.Join(lines[max(0, len(lines)-25):], "\n"))
}

// below lists all descendants of a process.
func below(pid int) []int {
	children := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state ppid …, and a name may hold anything.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], id)
		}
	}
	out := children[pid]
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}

// warned tells whether the log has a warning or an error that names something.
func (p *process) warned(of string) bool {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, of) && (strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`)) {
			return true
		}
	}
	return false
}

// output is what the process has written to standard output.
func (p *process) output() string {
	b, err := os.ReadFile(p.out)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
