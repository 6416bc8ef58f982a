package members

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Line is a member's way to the broker, which can be cut for good: for the
// group the member is dead then, and nothing that it does arrives.
type Line struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

// Opts connect through the line, with a session that a death ends soon.
func (l *Line) Opts() []kgo.Opt {
	return []kgo.Opt{kgo.Dialer(l.dial), kgo.SessionTimeout(600 * time.Millisecond), kgo.HeartbeatInterval(100 * time.Millisecond)}
}

func (l *Line) dial(ctx context.Context, network, host string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || !l.dead {
		l.conns = append(l.conns, conn)
		return conn, err
	}
	conn.Close()
	return nil, errors.New("the line is cut")
}

// Cut cuts the line for good.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, c := range l.conns {
		if c != nil {
			c.Close()
		}
	}
}

// Header returns a record's header.
func Header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Running runs until the returned function is called, or the test ends.
func Running(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// Logger logs into the test's output.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
