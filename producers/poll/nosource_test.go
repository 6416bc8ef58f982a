package poll

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tributary/test/wait"
)

// A member that has nothing to list says so, rather than wait in silence.
func TestAMemberWithoutSourcesSaysSo(t *testing.T) {
	b := newBench(t)
	said := make(chan string, 10)
	b.deps.Sources = nil
	b.deps.Log = slog.New(slog.NewTextHandler(writer(func(line []byte) { said <- string(line) }), nil))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	select {
	case line := <-said:
		if !strings.Contains(line, "no source is configured") {
			t.Error(line)
		}
	case <-time.After(wait.Patience()):
		t.Error("it says nothing")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// writer calls itself with what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
