package http

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"tributary/internal/remote"
)

// httpConn is a connection on which the server's silence is an error. How long a
// caller takes between two reads doesn't count, nor how long nothing was asked.
type httpConn struct {
	net.Conn
	idle time.Duration
}

// Read reads, and gives the server the whole idle time for it.
func (c *httpConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(c.late()); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// Write writes, and gives the server the whole idle time to answer.
func (c *httpConn) Write(b []byte) (int, error) {
	if err := c.SetDeadline(c.late()); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// late is a little after the transport has given up waiting for an answer: an end
// of the connection would make it ask again.
func (c *httpConn) late() time.Time { return time.Now().Add(c.idle + c.idle/8) }

// newTransport makes what speaks HTTP/1.1 over one connection: no compression,
// nothing from the environment.
func (s *Session) newTransport() *http.Transport {
	dial := func(secure bool) func(ctx context.Context, network, addr string) (net.Conn, error) {
		return func(ctx context.Context, _, addr string) (net.Conn, error) { return s.dialTo(ctx, addr, secure) }
	}
	return &http.Transport{
		DialContext: dial(false), DialTLSContext: dial(true), Proxy: s.plainProxy,
		DisableCompression: true, MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: s.cfg.IdleTimeout,
		ResponseHeaderTimeout: s.cfg.IdleTimeout, MaxResponseHeaderBytes: s.cfg.Limits.Reply,
	}
}

// dialTo gives the transport the connection that Dial made, and another where that
// one has ended, or where the server sends us to another one.
func (s *Session) dialTo(ctx context.Context, addr string, secure bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	quiet := func(string, string) {}
	if addr == s.firstAddr() {
		s.mu.Lock()
		first := s.first
		s.first = nil
		s.mu.Unlock()
		if first != nil {
			return first, nil
		}
		return s.connect(ctx, s.target, secure, quiet)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conn, err := s.connect(ctx, remote.Target{Host: host, Port: port}, secure, quiet)
	if err != nil {
		return nil, err
	}
	if s.proxy == nil && inward(s.from, address(conn)) {
		_ = conn.Close()
		return nil, sentOn("to %s, an address inside of this network, which a server outside has no business with", conn.RemoteAddr())
	}
	return conn, nil
}

// inward tells whether a server of the whole net sends us to one that only this
// machine or its network reaches.
func inward(from, to netip.Addr) bool {
	inside := func(a netip.Addr) bool {
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
	}
	return inside(to) && !inside(from)
}

func address(conn net.Conn) netip.Addr {
	to, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return to.Addr().Unmap()
}

// connect connects to a server and, where that is asked for, verifies who it is.
func (s *Session) connect(ctx context.Context, t remote.Target, secure bool, step func(name, detail string)) (net.Conn, error) {
	conn, err := s.reach(ctx, t, secure, step)
	if err != nil || !secure {
		return conn, err
	}
	c := s.cfg
	if t.Server() != s.target.Server() {
		c.CertificatePin = nil // which are of the base's server
	}
	verify, err := remote.TLSConfig(c, t)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	encrypted, err := remote.Encrypt(ctx, conn, verify, step)
	if err != nil {
		_ = conn.Close()
		return nil, s.Fail("verify certificate of", t.Server(), err)
	}
	return encrypted, nil
}
