package remote

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// idleConn fails a connection on which nothing moves for too long while
// somebody waits for it. A connection that nobody waits for may be silent: a
// poll between two listings is no fault.
type idleConn struct {
	net.Conn
	idle time.Duration

	mu      sync.Mutex
	waiting int
	// set is when the deadline was last moved, in Unix nanoseconds: moving it
	// on every packet would cost more than it tells.
	set     atomic.Int64
	expired atomic.Bool
}

// begin says that somebody waits for the connection from now on; end takes it
// back.
func (c *idleConn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.move(time.Now())
	}
}

func (c *idleConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		// Best effort: a closed connection has no deadline to take back.
		_ = c.Conn.SetDeadline(time.Time{})
	}
}

func (c *idleConn) move(now time.Time) {
	c.set.Store(now.UnixNano())
	_ = c.Conn.SetDeadline(now.Add(c.idle))
}

func (c *idleConn) progressed(err error) {
	if err != nil {
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			c.expired.Store(true)
		}
		return
	}
	now := time.Now()
	if now.UnixNano()-c.set.Load() < int64(c.idle/8) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		c.move(now)
	}
}

// Read reads and counts as progress.
func (c *idleConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.progressed(err)
	return n, err
}

// Write writes and counts as progress.
func (c *idleConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.progressed(err)
	return n, err
}
