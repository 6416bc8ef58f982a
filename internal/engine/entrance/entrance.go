// Package entrance lets connections into the doors of the embedded engines: so
// many may be logging in at once, those beyond are sent away, and why connections
// are ended is said once in a while.
package entrance

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"tributary/internal/backoff"
	"tributary/internal/kafka"
)

// ErrTooMany is why a connection is ended for which there is no place.
var ErrTooMany = errors.New("too many connections at once")

// Entrance is an open entrance, until Close.
type Entrance struct {
	engine  string
	log     *slog.Logger
	quiet   *kafka.Quiet
	ctx     context.Context
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

// New returns an entrance of an engine, by the name that the log has for it.
func New(engine string, log *slog.Logger) *Entrance {
	e := &Entrance{engine: engine, log: log, quiet: kafka.NewQuiet(time.Now)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Context ends when the entrance is closed.
func (e *Entrance) Context() context.Context { return e.ctx }

// Go does something beside, which has to end with [Entrance.Context]: Close waits
// for it.
func (e *Entrance) Go(do func()) { e.serving.Go(do) }

// Close ends what the listeners let in, and lets nobody in any more. Closing again
// is harmless.
func (e *Entrance) Close(listeners ...net.Listener) error {
	e.cancel()
	var errs []error
	for _, l := range listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	e.serving.Wait()
	return errors.Join(errs...)
}

// Serve begins to let the connections of a listener in, each by a call of admit
// whose connection is closed when the entrance is. At most so many strangers are
// inside at once: those for whom admit has neither called entered nor returned.
func (e *Entrance) Serve(l net.Listener, strangers int, admit func(c net.Conn, entered func())) {
	entering := make(chan struct{}, strangers)
	e.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if e.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
					return
				}
				e.TurnAway("a connection", "", err)
				_ = backoff.Sleep(e.ctx, 100*time.Millisecond) // a listener that fails is not asked without end
				continue
			}
			select {
			case entering <- struct{}{}:
				e.Go(func() {
					entered := sync.OnceFunc(func() { <-entering })
					defer entered()
					defer context.AfterFunc(e.ctx, func() { _ = c.Close() })() // what waits for it ends
					admit(c, entered)
				})
			default:
				e.TurnAway("a connection", c.RemoteAddr().String(), ErrTooMany)
				_ = c.Close() // whoever it is learns it by that
			}
		}
	})
}

// TurnAway says why a connection was ended, once in a while for each kind of
// client: whoever tries for ever must not fill the log. That a client went away is
// not said.
func (e *Entrance) TurnAway(who, where string, why error) {
	if e.ctx.Err() != nil || gone(why) {
		return
	}
	if missed, ok := e.quiet.Due(who); ok {
		text := why.Error()
		e.log.Warn("ended a connection to the embedded "+e.engine, "of", who, "from", where, "why", text[:min(len(text), 200)], "not_logged", missed)
	}
}

// gone is whether an error says no more than that the other side has left.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
