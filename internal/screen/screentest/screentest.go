// Package screentest gives tests a terminal, of whose two ends a program has one
// and a test reads the other.
package screentest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo-terminal.
type Terminal struct {
	Program *os.File // the program's end

	t     testing.TB
	ours  *os.File
	mu    sync.Mutex
	shown bytes.Buffer
	more  chan struct{}
}

// New opens a terminal of that size, and closes it when the test ends.
func New(t testing.TB, columns, rows int) *Terminal {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &Terminal{Program: program, t: t, ours: ours, more: make(chan struct{}, 1)}
	p.Resize(columns, rows)
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			p.mu.Lock()
			p.shown.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.more <- struct{}{}:
			default:
			}
			if err != nil { // EIO once the program's end is closed
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := errors.Join(program.Close(), ours.Close()); err != nil {
			t.Error(err)
		}
		<-read
	})
	return p
}

// Resize changes the terminal's size, as a window's edge that is dragged does.
func (p *Terminal) Resize(columns, rows int) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
}

// Shown is all that was sent to the terminal so far, each line's end as \r\n.
func (p *Terminal) Shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// Until waits until what was sent is as wanted, and returns it; the test fails if
// ctx ends before.
func (p *Terminal) Until(ctx context.Context, wanted func(shown string) bool) string {
	p.t.Helper()
	for {
		if shown := p.Shown(); wanted(shown) {
			return shown
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			p.t.Fatalf("the terminal never showed what was waited for: %q", p.Shown())
		}
	}
}
