package remote

import (
	"os"
	"strings"
)

// ftpControl is the control connection. It remembers the last line it read,
// because the library keeps the text of the reply that ends a listing to itself
// and some servers hide a refusal there.
type ftpControl struct {
	*idleConn
	last []byte
}

// Write gives the server the whole idle time again: during a transfer the
// control connection is silent for as long as that takes.
func (c *ftpControl) Write(b []byte) (int, error) {
	if c.expired.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	c.renew()
	return c.idleConn.Write(b)
}

// Read reads and keeps the last line. After a time-out there is nothing more to
// read: a late reply would be taken for that of the next command.
func (c *ftpControl) Read(b []byte) (int, error) {
	if c.expired.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	c.renew()
	n, err := c.idleConn.Read(b)
	c.last = append(c.last, b[:n]...)
	if i := strings.LastIndexByte(strings.TrimRight(string(c.last), "\r\n"), '\n'); i >= 0 {
		c.last = append(c.last[:0], c.last[i+1:]...)
	}
	if len(c.last) > 1024 {
		c.last = c.last[:1024]
	}
	return n, err
}

func (c *ftpControl) lastLine() string { return strings.TrimRight(string(c.last), "\r\n") }

// ftpData is a data connection. Only the server's silence counts: a caller may
// take its time between two reads.
type ftpData struct{ *idleConn }

// Read reads, and gives the server the whole idle time for it.
func (d *ftpData) Read(b []byte) (int, error) {
	d.renew()
	return d.idleConn.Read(b)
}
