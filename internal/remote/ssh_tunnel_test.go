package remote

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// onlyBytes is a connection without deadlines, as a channel of SSH is.
type onlyBytes struct{ net.Conn }

func (onlyBytes) SetDeadline(time.Time) error { return errors.New("not supported") }

// A tunnel fails where nothing moves for too long while somebody waits, and only then.
func TestATunnelKeepsToItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := &idleConn{Conn: &tunnel{Conn: onlyBytes{near}, below: near}, idle: time.Minute}
		c.begin()
		c.end()
		time.Sleep(time.Hour) // nobody waits
		c.begin()
		defer c.end()
		b := make([]byte, 1)
		for range 3 { // each byte moves the deadline
			go func() { _, _ = far.Write([]byte{1}) }()
			if _, err := c.Read(b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Second)
		}
		if _, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) || !c.expired.Load() {
			t.Errorf("nothing moves: %v, expired %v", err, c.expired.Load())
		}
		if _, err := c.Write(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write afterwards: %v", err)
		}
	})
}
