// Package program is what the commands of benches have in common: how they begin and end,
// and a system that runs while it is measured.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Main reads the flags that are defined, and runs a bench until it has ended or is
// interrupted. Where it fails, the process ends with 1.
func Main(name string, run func(context.Context) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
		os.Exit(1)
	}
}

// Up is a running tributary up.
type Up struct {
	cmd   *exec.Cmd
	ended chan error
	pause time.Duration
	limit time.Duration
}

// Start starts it. Eventually asks after each pause, up to the limit.
func Start(ctx context.Context, binary, config string, pause, limit time.Duration) (*Up, error) {
	u := &Up{cmd: exec.CommandContext(ctx, binary, "up", "--config", config, "--log-level", "warn"), ended: make(chan error, 1), pause: pause, limit: limit}
	u.cmd.Stderr = os.Stderr
	u.cmd.Cancel = func() error { return u.cmd.Process.Signal(syscall.SIGTERM) }
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { u.ended <- u.cmd.Wait() }()
	return u, nil
}

// PID is that of the process.
func (u *Up) PID() int { return u.cmd.Process.Pid }

// Stop has it end, and waits until it has.
func (u *Up) Stop() {
	_ = u.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-u.ended
}

// Eventually asks until it is so; an error of is ends that, as does the end of the process.
func (u *Up) Eventually(ctx context.Context, is func() (bool, error)) error {
	over := time.After(u.limit)
	for {
		done, err := is()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-u.ended:
			u.ended <- err
			return fmt.Errorf("tributary up ended: %w", err)
		case <-over:
			return errors.New("it takes longer than " + u.limit.String())
		case <-time.After(u.pause):
		}
	}
}
