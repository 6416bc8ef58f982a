package http

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"tributary/internal/remote"
)

// proxyOf reads the proxy of a configuration; nil: there is none.
func proxyOf(c remote.Config) (*url.URL, error) {
	if c.Proxy == "" {
		return nil, nil
	}
	u, err := remote.ParseProxy(c.Proxy)
	if err != nil {
		return nil, &remote.Error{Op: "parse", Class: remote.Misconfigured, Err: err}
	}
	if u.User != nil {
		u.User = url.UserPassword(u.User.Username(), c.ProxyPassword)
	}
	return u, nil
}

// plainProxy has the transport ask the proxy for what is not encrypted: it sends it
// the whole URL, and alone the proxy's password. What is encrypted goes through a
// tunnel that reach makes.
func (s *Session) plainProxy(req *http.Request) (*url.URL, error) {
	if req.URL.Scheme == "http" {
		return s.proxy, nil
	}
	return nil, nil
}

// firstAddr is what the transport asks for where the connection fits that Dial made.
func (s *Session) firstAddr() string {
	if s.proxy != nil && s.target.Scheme == "http" {
		return s.proxy.Host
	}
	return s.target.Server()
}

// reach connects to a server, or to the proxy before it, which is asked for a tunnel
// where what goes through is encrypted.
func (s *Session) reach(ctx context.Context, t remote.Target, secure bool, step func(name, detail string)) (net.Conn, error) {
	next := t
	if s.proxy != nil {
		next = remote.Target{Host: s.proxy.Hostname(), Port: s.proxy.Port()}
	}
	tcp, err := remote.Connect(ctx, s.cfg, next, step)
	if err != nil {
		return nil, err
	}
	conn := &httpConn{tcp.Conn, s.cfg.IdleTimeout}
	if s.proxy == nil || !secure {
		return conn, nil
	}
	step("proxy", "")
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := s.tunnel(conn, t); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	step("proxy", "it lets us through to "+t.Server())
	return conn, nil
}

// tunnel asks the proxy for a way to a server. Nothing but the proxy's own password
// is said to it.
func (s *Session) tunnel(conn net.Conn, t remote.Target) error {
	ask := "CONNECT " + t.Server() + " HTTP/1.1\r\nHost: " + t.Server() + "\r\nUser-Agent: " + UserAgent + "\r\n"
	if user := s.proxy.User; user != nil {
		password, _ := user.Password()
		ask += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, ask+"\r\n"); err != nil {
		return s.Fail("ask the proxy for", t.Server(), err)
	}
	reply := &io.LimitedReader{R: conn, N: s.cfg.Limits.Reply}
	in := bufio.NewReader(reply)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // what follows is the tunnel
	if err != nil && reply.N == 0 {
		err = remote.Broken("reply_too_long", "the header of the proxy's answer is longer than limits.reply, %d bytes", s.cfg.Limits.Reply)
	}
	if err != nil {
		return s.Fail("ask the proxy for", t.Server(), err)
	}
	switch {
	case resp.StatusCode == http.StatusProxyAuthRequired:
		err = &remote.Error{Class: remote.Auth, Err: errors.New("the proxy wants a user and a password: proxy and proxy_password of the source")}
	case resp.StatusCode != http.StatusOK:
		err = &remote.Error{Class: remote.Connection, Exception: "connection_failed", Err: fmt.Errorf("the proxy answers %s", resp.Status)}
	case in.Buffered() > 0:
		// Before the handshake nobody has anything to say.
		err = remote.Broken("protocol_error", "the proxy says more than that it lets us through")
	}
	return s.Fail("ask the proxy for", t.Server(), err)
}

// inwardByName tells whether a server sends us, by a name that only the proxy looks
// up, to what a network has for itself. Where names lead else is the proxy's to know.
func inwardByName(from, to string) bool {
	inside := func(host string) bool {
		host = strings.TrimSuffix(strings.ToLower(host), ".")
		if a, err := netip.ParseAddr(host); err == nil {
			a = a.Unmap()
			return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
		}
		return host == "localhost" || strings.HasSuffix(host, ".localhost") || !strings.Contains(host, ".")
	}
	return inside(to) && !inside(from)
}
