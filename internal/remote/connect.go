package remote

import (
	"context"
	"net"
	"strings"
)

// Connect resolves and connects.
func Connect(ctx context.Context, c Config, t Target, step func(name, detail string)) (*IdleConn, error) {
	step("resolve", "")
	addrs := []string{t.Host}
	if net.ParseIP(t.Host) == nil {
		var err error
		if addrs, err = net.DefaultResolver.LookupHost(ctx, t.Host); err != nil {
			return nil, &Error{Op: "resolve", Path: t.Host, Class: Connection, Exception: "host_not_found", Err: err}
		}
	}
	step("resolve", strings.Join(addrs, ", "))
	step("connect", "")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Server())
	if err != nil {
		return nil, connectError(t, err)
	}
	step("connect", conn.RemoteAddr().String())
	return &IdleConn{Conn: conn, Idle: c.IdleTimeout}, nil
}

func connectError(t Target, err error) error {
	e := &Error{Op: "connect", Path: t.Server(), Err: err, Class: classify(err)}
	if e.Class == Unclassified {
		e.Class = Connection
	}
	if e.Class == Connection {
		e.Exception = "connection_failed"
	}
	return e
}
