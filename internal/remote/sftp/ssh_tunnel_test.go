package sftp

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/remote"
)

// onlyBytes is a connection without deadlines, as a channel of SSH is.
type onlyBytes struct{ net.Conn }

func (onlyBytes) SetDeadline(time.Time) error { return errors.New("not supported") }

// A tunnel fails where nothing moves for too long while somebody waits, and only then.
func TestATunnelKeepsToItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := &remote.IdleConn{Conn: &tunnel{Conn: onlyBytes{near}, below: near}, Idle: time.Minute}
		c.Begin()
		c.End()
		time.Sleep(time.Hour) // nobody waits
		c.Begin()
		defer c.End()
		b := make([]byte, 1)
		for range 3 { // each byte moves the deadline
			go func() { _, _ = far.Write([]byte{1}) }()
			if _, err := c.Read(b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Second)
		}
		if _, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) || !c.Expired() {
			t.Errorf("nothing moves: %v, expired %v", err, c.Expired())
		}
		if _, err := c.Write(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write afterwards: %v", err)
		}
	})
}
