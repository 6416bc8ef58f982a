// Package servers starts file servers on loopback for tests and for the demo:
// the real OpenSSH, vsftpd, ProFTPD, Pure-FTPd, nginx and Apache httpd, each with keys and a configuration of
// its own, and an SFTP server that misbehaves on request. Nothing is installed
// here and nothing outside the given directories is changed.
package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tributary/test/ports"
)

// RequireEnv names the environment variable that turns a missing server from a
// skipped test into a failed one.
const RequireEnv = "TRIBUTARY_REQUIRE_ENGINES"

// ErrMissing is matched when a server program isn't installed.
var ErrMissing = errors.New("server program is not installed")

// TB is the part of testing.TB that [Need] uses, so that this package stays out
// of the test framework.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need handles the error of a Start function: a program that is missing skips
// the test, or fails it where [RequireEnv] is 1; any other error fails it.
func Need(t TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv(RequireEnv) != "1":
		t.Skipf("skipped: %v", err)
	default:
		t.Fatalf("%v", err)
	}
}

// find looks for a program where distributions put daemons, which is often not
// in a user's PATH. The result is absolute: sshd insists on it.
func find(name, hint string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return filepath.Abs(p)
	}
	dirs := []string{"/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/sbin"}
	if own := unpacked(); own != "" {
		dirs = append(dirs, own+"/usr/sbin", own+"/usr/bin")
	}
	for _, dir := range dirs {
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s: %w: %s", name, ErrMissing, hint)
}

// startWithin bounds how long a server may take to greet.
const startWithin = 2 * time.Minute

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	once sync.Once
}

// startProcess runs a server and waits until ready finds it so on addr.
func startProcess(ctx context.Context, log *slog.Logger, ready func(addr string) error, addr, name string, args ...string) (*process, error) {
	out := &lineLog{log: log, name: filepath.Base(name)}
	cmd := exec.Command(name, args...)
	cmd.Env = environ(name)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Children of the server may hold its output open; they aren't waited for.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		// How it ended is in its output; Stop ends it by a signal anyway.
		_ = cmd.Wait()
	}()
	if err := p.await(ctx, ready, addr); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w; its last words: %s", filepath.Base(name), err, out.tail())
	}
	return p, nil
}

func (p *process) await(ctx context.Context, ready func(addr string) error, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := ready(addr); err == nil {
			return nil
		}
		select {
		case <-p.done:
			return errors.New("ended right after its start")
		case <-ctx.Done():
			return fmt.Errorf("is not ready on %s: %w", addr, ctx.Err())
		case <-tick.C:
		}
	}
}

// greets waits for what a server says first.
func greets(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// stop ends the server and what it started in its group, and waits for it.
func (p *process) stop() {
	p.once.Do(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	})
}

// freePort returns a port on loopback that was free a moment ago.
func freePort() (int, error) {
	free, err := ports.Free(1)
	if err != nil {
		return 0, err
	}
	return int(free[0].Port()), nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// lineLog passes a server's output to the log and keeps the end of it.
type lineLog struct {
	log  *slog.Logger
	name string

	mu   sync.Mutex
	last []byte
}

// Write logs b, which is one or a few lines.
func (l *lineLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.last = append(l.last, b...)
	if extra := len(l.last) - 2048; extra > 0 {
		l.last = append(l.last[:0], l.last[extra:]...)
	}
	l.mu.Unlock()
	l.log.Debug("server output", "server", l.name, "text", string(b))
	return len(b), nil
}

func (l *lineLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}
