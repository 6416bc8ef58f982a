package chdb

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// control cancels statements, over a connection of its own.
type control struct {
	conns chan *conn // one
	log   *slog.Logger
}

// watch cancels the statement that starts with tag when ctx ends, until the
// returned function is called. A statement may not have begun when its client
// goes away, so it is looked for again and again.
func (k *control) watch(ctx context.Context, tag string) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			k.kill(tag)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (k *control) kill(tag string) {
	c := <-k.conns
	defer func() { k.conns <- c }()
	if _, err := c.exec("KILL QUERY WHERE startsWith(query, "+quote(tag)+") ASYNC", "Null", nil); err != nil {
		k.log.Warn("cancel a statement", "error", err)
	}
}

// tagger makes the marks by which running statements are found and cancelled.
type tagger struct{ n atomic.Uint64 }

// tag returns a comment that no other statement of this process starts with.
func (t *tagger) tag() string { return fmt.Sprintf("/* rid:%d */ ", t.n.Add(1)) }
