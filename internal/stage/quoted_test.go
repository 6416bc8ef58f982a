package stage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"tributary/test/members"
)

// lines counts what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) longest() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		n = max(n, len(line))
	}
	return n
}

// An error's text may be another side's: neither a warning nor what is said of a
// dead letter repeats all of it.
func TestLoggedErrorsAreBounded(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("a", 1))
	var log lines
	r := NewRunner(Config{Name: "work", Prefix: prefix, Topic: inTopic, Backoff: 1, BackoffMax: 1, MaxFailures: 3}, b.Factory(), b.Codec,
		funcs{work: func(context.Context, Input) error { return errors.New(strings.Repeat("x", 1<<20)) }}, slog.New(slog.NewTextHandler(&log, nil)), b.Metrics)
	members.Running(t, r.Run)
	members.Eventually(t, "it is set aside", func() bool { at, _ := b.committed("test.work", 0); return at == 1 })
	if n := log.longest(); n == 0 || n > 2*maxErrorText {
		t.Errorf("the longest line has %d bytes", n)
	}
}
