package entrance_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tributary/internal/engine/entrance"
	"tributary/test/wait"
)

// book is a log that is read while it is written.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Strangers are bounded, those who have entered are not among them, whoever is
// beyond is sent away and that is said once, and closing ends whoever is inside.
func TestStrangersAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &book{}
	e := entrance.New("engine", slog.New(slog.NewTextHandler(log, nil)))
	inside := make(chan func(), 8)
	e.Serve(l, 2, func(c net.Conn, entered func()) {
		inside <- entered
		_, _ = io.Copy(io.Discard, c) // until it is closed
	})
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ends := func(c net.Conn) bool {
		_ = c.SetReadDeadline(time.Now().Add(wait.Patience()))
		_, err := c.Read(make([]byte, 1))
		return errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "reset")
	}
	first, _ := dial(), dial()
	let, _ := <-inside, <-inside
	for range 3 {
		if !ends(dial()) {
			t.Error("one too many stays")
		}
	}
	let()
	let() // is no place for another one
	dial()
	<-inside
	if !ends(dial()) {
		t.Error("one too many stays after another has entered")
	}
	if text := log.String(); strings.Count(text, "ended a connection to the embedded engine") != 1 || !strings.Contains(text, entrance.ErrTooMany.Error()) {
		t.Errorf("the log:\n%s", text)
	}
	for range 2 {
		if err := e.Close(l); err != nil {
			t.Error(err)
		}
	}
	if !ends(first) {
		t.Error("who was inside stays")
	}
}

// What is said of whoever was sent away is cut, and that somebody left is not said.
func TestWhatIsSaid(t *testing.T) {
	log := &book{}
	e := entrance.New("engine", slog.New(slog.NewTextHandler(log, nil)))
	for _, err := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, errors.New(strings.Repeat("x", 10_000))} {
		e.TurnAway(err.Error()[:1], "", err)
	}
	if text := log.String(); strings.Count(text, "ended a connection") != 2 || strings.Count(text, "x") > 210 {
		t.Errorf("the log:\n%s", text)
	}
}
