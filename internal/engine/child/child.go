// Package child starts the processes that the embedded engines run in, so that
// none of them outlives Tributary: the kernel signals a child when its parent
// dies, even by kill -9.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Process is a started child. Its exported methods may be called from any
// goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	// mu orders signals against the reaping of the child, after which its
	// process id may belong to another process.
	mu     sync.Mutex
	reaped bool
}

// Current is the child that runs now of those that are started one after another,
// with what it says. Its methods may be called from any goroutine.
type Current struct {
	proc atomic.Pointer[Process]
	tail atomic.Pointer[Tail]
}

// Set notes which child runs now, and where its last words are.
func (c *Current) Set(p *Process, words *Tail) {
	c.tail.Store(words)
	c.proc.Store(p)
}

// Process is the child that was started last; nil before the first.
func (c *Current) Process() *Process { return c.proc.Load() }

// Done is closed when the running child has ended, whoever ended it; nil before
// the first.
func (c *Current) Done() <-chan struct{} {
	if p := c.proc.Load(); p != nil {
		return p.Done()
	}
	return nil
}

// Err says how the running child ended; nil while it runs and after exit code 0.
func (c *Current) Err() error {
	if p := c.proc.Load(); p != nil {
		return p.Err()
	}
	return nil
}

// LastWords are the last lines that the child wrote.
func (c *Current) LastWords() string {
	if t := c.tail.Load(); t != nil {
		return t.String()
	}
	return ""
}

// Pid is the process id of the running child, or 0.
func (c *Current) Pid() int {
	if p := c.proc.Load(); p != nil {
		return p.Pid()
	}
	return 0
}

// Start runs cmd in a process group of its own, so that Ctrl-C on a terminal
// reaches only Tributary, which then stops its engines in order. If this
// process dies, the kernel sends the child deathSignal. The caller owns cmd's
// files; fields of cmd.SysProcAttr that Start does not set are kept.
func Start(cmd *exec.Cmd, deathSignal syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = deathSignal
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The death signal is tied to the thread that forked, not to the
		// process, so this thread is kept for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// wait reaps the child. It first waits without reaping, so that a signal can
// never hit a process that has been given the child's id since.
func (p *Process) wait() {
	waitNoReap(p.cmd.Process.Pid)
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	p.err = p.cmd.Wait()
	close(p.done)
}

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed once the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the child ended; nil before Done is closed and after exit code 0.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Signal sends sig unless the child has ended.
func (p *Process) Signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		// The only possible failure is that the child has just ended.
		_ = syscall.Kill(p.cmd.Process.Pid, sig)
	}
}

// Stop sends the signals one after another, giving each up to grace to take
// effect, and at last SIGKILL. It returns an error only if the child had to be
// killed.
func (p *Process) Stop(grace time.Duration, signals ...syscall.Signal) error {
	for _, sig := range signals {
		p.Signal(sig)
		if p.within(grace) {
			return nil
		}
	}
	p.Signal(syscall.SIGKILL)
	if !p.within(grace) {
		return fmt.Errorf("process %d (%s) is still there after SIGKILL: look for a hung disk or mount", p.Pid(), p.cmd.Path)
	}
	return fmt.Errorf("process %d (%s) did not stop when asked and was killed", p.Pid(), p.cmd.Path)
}

func (p *Process) within(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// waitNoReap blocks until the process has ended and leaves it to be reaped.
func waitNoReap(pid int) {
	for {
		if err := waitidExited(pid); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// Alive says whether a process with this id exists, whoever owns it.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, os.ErrPermission)
}
