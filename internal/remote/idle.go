package remote

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// IdleConn fails a connection on which nothing moves for too long while
// somebody waits for it. A connection that nobody waits for may be silent: a
// poll between two listings is no fault.
type IdleConn struct {
	net.Conn
	// Idle is how long nothing may move.
	Idle time.Duration

	mu      sync.Mutex
	waiting int
	// set is when the deadline was last moved, in Unix nanoseconds: moving it
	// on every packet would cost more than it tells.
	set     atomic.Int64
	expired atomic.Bool
}

// Begin says that somebody waits for the connection from now on; [IdleConn.End] takes
// it back.
func (c *IdleConn) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.move(time.Now())
	}
}

// End says that one less waits for the connection.
func (c *IdleConn) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		// Best effort: a closed connection has no deadline to take back.
		_ = c.Conn.SetDeadline(time.Time{})
	}
}

func (c *IdleConn) move(now time.Time) {
	c.set.Store(now.UnixNano())
	_ = c.Conn.SetDeadline(now.Add(c.Idle))
}

func (c *IdleConn) progressed(err error) {
	if err != nil {
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			c.expired.Store(true)
		}
		return
	}
	now := time.Now()
	if now.UnixNano()-c.set.Load() < int64(c.Idle/8) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		c.move(now)
	}
}

// Read reads and counts as progress.
func (c *IdleConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.progressed(err)
	return n, err
}

// Write writes and counts as progress.
func (c *IdleConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.progressed(err)
	return n, err
}

// Expired tells whether nothing has moved for too long.
func (c *IdleConn) Expired() bool { return c.expired.Load() }
