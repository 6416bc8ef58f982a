//go:build synctests

package sim

import (
	"bytes"
	"context"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

// dbConns is how many connections a process has to its databases, as by default.
const dbConns = 8

// connectDB gives the process a pool like the product's, on connections that
// break and stand still with the process.
func (p *proc) connectDB(dsn string) (*pgxpool.Pool, error) {
	cfg, err := pg.PoolConfig(dsn, "sim "+p.role, dbConns)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := p.connect(ctx, network, address, dialer.DialContext)
		if err != nil {
			return nil, err
		}
		return &dbConn{conn: c}, nil
	}
	return pgxpool.NewWithConfig(context.Background(), cfg)
}

// dbConn is a connection of a process to Postgres, on which it can be struck
// where a transaction begins, before its commit leaves, and when the answer to
// the commit has come.
type dbConn struct {
	*conn
	mu    sync.Mutex
	later *fault // strikes once the answer to a commit has come
}

// Labels of the steps of a transaction, as the models have them.
const (
	stepBegin  = "tx.begin"
	stepCommit = "tx.commit"
)

// txLabel recognises the message with which a transaction begins or is to be
// committed: both are simple queries, each sent in one go.
func txLabel(b []byte) string {
	if len(b) < 6 || b[0] != 'Q' {
		return ""
	}
	switch text := b[5:]; { // behind the type and the length
	case bytes.HasPrefix(text, []byte("begin")):
		return stepBegin
	case bytes.HasPrefix(text, []byte("commit")):
		return stepCommit
	}
	return ""
}

// Write sends messages, unless the process is struck before.
func (c *dbConn) Write(b []byte) (int, error) {
	if err := c.strike(c.choose(txLabel(b))); err != nil {
		c.Close()
		return 0, err
	}
	return c.Conn.Write(b)
}

// choose is the fault that strikes before something is sent. At a commit, half
// of them strike when the answer has come, and a lost answer does by its name:
// whether a transaction that was cut off holds is not for the process to know.
func (c *dbConn) choose(label string) (*fault, string) {
	if label == "" {
		return nil, ""
	}
	f := c.p.s.faults.hit(c.p.role, label)
	if f != nil && label == stepCommit && (f.do == doLose || f.do != doFail && f.nth%2 == 0) {
		c.mu.Lock()
		c.later = f
		c.mu.Unlock()
		return nil, ""
	}
	return f, label
}

// strike returns when the process may go on, or why it may not.
func (c *dbConn) strike(f *fault, label string) error {
	if f == nil && c.p.free() {
		return nil
	}
	ctx, cancel := c.context()
	defer cancel()
	if err := c.p.gate(ctx); err != nil {
		return err
	}
	return c.p.suffer(ctx, f, label)
}

// Read returns what came.
func (c *dbConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	c.mu.Lock()
	f := c.later
	c.later = nil
	c.mu.Unlock()
	if err := c.strike(f, stepCommit); err != nil {
		c.Close()
		return 0, err
	}
	return n, nil
}
