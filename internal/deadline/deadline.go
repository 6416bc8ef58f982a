// Package deadline bounds how long something takes, but for the time in which it waits
// for its own turn: whoever keeps to the pauses that a server asks for is not slower for
// it.
package deadline

import (
	"context"
	"sync"
	"time"
)

// limit is a bound on what is done with a context. It stands still while anybody holds
// it.
type limit struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration // when it was held, or began
	since  time.Time     // when it began to run
	held   int
	ended  bool
	around *limit // of the context from which its own was made; nil: none
}

type key struct{}

// After returns a context that ends when a time has passed in which nobody held it, with
// that cause, or with ctx. cancel must be called.
func After(ctx context.Context, most time.Duration, cause error) (bounded context.Context, cancel context.CancelFunc) {
	ending, end := context.WithCancelCause(ctx)
	bounded, stop := Watch(ending, most, func() { end(cause) })
	return bounded, func() {
		stop()
		end(context.Canceled)
	}
}

// Watch calls late when a time has passed in which nobody held the context that it
// returns, unless it is stopped before: stop tells whether it was. The context goes on
// after that, as ctx does.
func Watch(ctx context.Context, most time.Duration, late func()) (watched context.Context, stop func() bool) {
	l := &limit{left: most, since: time.Now()}
	l.around, _ = ctx.Value(key{}).(*limit)
	l.mu.Lock() // what is short may end before it is stored which timer ends it
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(most, func() {
		if l.end() {
			late()
		}
	})
	return context.WithValue(ctx, key{}, l), l.end
}

// end ends the limit, and tells whether it had not ended before.
func (l *limit) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.ended
	l.ended = true
	l.timer.Stop()
	return !was
}

// Hold lets the limits of a context, which [After] and [Watch] made, stand still until release is
// called, once.
func Hold(ctx context.Context) (release func()) {
	first, _ := ctx.Value(key{}).(*limit)
	for l := first; l != nil; l = l.around {
		l.hold()
	}
	return func() {
		for l := first; l != nil; l = l.around {
			l.release()
		}
	}
}

func (l *limit) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held++; l.held == 1 && !l.ended {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
}

func (l *limit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held--; l.held == 0 && !l.ended {
		l.since = time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}
