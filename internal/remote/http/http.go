package http

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"tributary/internal/remote"
)

// Session asks one server over one connection, one thing at a time.
type Session struct {
	cfg    remote.Config
	target remote.Target
	// root is the base's URL, without who logs in.
	root      url.URL
	transport *http.Transport
	// from is the address of the base's server.
	from netip.Addr
	// authorization is what the base's server alone gets to see; empty: nobody
	// logs in.
	authorization string
	// headers are what it is told besides, and nobody else.
	headers http.Header
	// proxy is the way to all servers; nil: none.
	proxy *url.URL
	// slot holds the right to ask, and what is below it.
	slot chan struct{}
	// robots are what servers want, by origin: those that were asked so far.
	robots map[string]*robots
	// pause is the longest that one of them wants between requests.
	pause time.Duration
	// buffer is for who has a file on its way, and with it the slot.
	buffer []byte

	// life ends with the session, and all that is under way with it.
	life context.Context
	end  context.CancelFunc

	// mu guards what is below it.
	mu sync.Mutex
	// first is the connection that Dial has made, until something is asked.
	first net.Conn
	// feed is what the feed shows, once it was read, and feedSame the version that it
	// was said to be still.
	feed     *feed
	feedSame string
}

// UserAgent is how robots.txt and logs call us.
const UserAgent = "tributary"

// Dial connects, reads what robots may do, and logs in. ctx bounds all of it.
func Dial(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (*Session, error) {
	s := &Session{cfg: c, target: t, root: url.URL{Scheme: t.Scheme, Host: t.Host, Path: t.Base}, slot: make(chan struct{}, 1)}
	if t.Port != defaultPort(t.Scheme) {
		s.root.Host = t.Server()
	} else if strings.Contains(t.Host, ":") {
		s.root.Host = "[" + t.Host + "]"
	}
	var err error
	if s.authorization, err = authorization(c, t); err != nil {
		return nil, err
	}
	if s.headers, err = extraHeaders(c, t); err != nil {
		return nil, err
	}
	if s.proxy, err = proxyOf(c); err != nil {
		return nil, err
	}
	s.transport = s.newTransport()
	if s.first, err = s.connect(ctx, t, t.Scheme == "https", step); err != nil {
		return nil, err
	}
	s.from = address(s.first)
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.greet(ctx, step); err != nil {
		_ = s.Close() // which never fails
		return nil, err
	}
	return s, nil
}

// authorization is the header's value by which the source logs in.
func authorization(c remote.Config, t remote.Target) (string, error) {
	switch {
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &remote.Error{Op: remote.OpLogin, Path: t.Server(), Class: remote.Misconfigured, Err: errors.New("token has a space, or characters that no header may have")}
	case strings.ContainsFunc(c.Cookie, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", &remote.Error{Op: remote.OpLogin, Path: t.Server(), Class: remote.Misconfigured, Err: errors.New("cookie has characters that no header may have")}
	case c.Token != "":
		return "Bearer " + c.Token, nil
	case t.User != "" || c.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(t.User+":"+c.Password)), nil
	}
	return "", nil
}

// greet asks what the session needs to know before it asks for files: what the
// server wants of robots, and whether it lets us in.
func (s *Session) greet(ctx context.Context, step func(name, detail string)) error {
	if !s.cfg.IgnoreRobots {
		step("robots", "")
		r, err := s.rules(ctx, &s.root)
		if err != nil {
			return err
		}
		step("robots", r.found(s.cfg.Gate != nil))
	}
	if s.authorization == "" && s.cfg.Cookie == "" && len(s.headers) == 0 {
		return nil
	}
	step("login", "")
	resp, done, err := s.get(ctx, http.MethodHead, s.At(s.target.Base, true)) //nolint:bodyclose // done closes it
	if err == nil {
		done()
	}
	switch remote.ClassOf(err) {
	case remote.Unclassified, remote.NotExist, remote.Permission:
		// Whether there is an index is for the listing to find out.
	default:
		return s.Fail(remote.OpLogin, s.target.Server(), err)
	}
	found := "user " + s.target.User
	switch {
	case s.cfg.Token != "":
		found = "token"
	case s.authorization == "" && s.cfg.Cookie != "":
		found = "cookie"
	case s.authorization == "":
		found = "headers"
	}
	if resp != nil && resp.TLS == nil {
		found += ", which anybody on the way can read: the connection is not encrypted"
	}
	step("login", found)
	return nil
}

// At is the URL of a path on the server.
func (s *Session) At(full string, dir bool) *url.URL {
	u := s.root
	u.Path = full
	if dir && !strings.HasSuffix(full, "/") {
		u.Path += "/"
	}
	return &u
}

// get asks for what is at a URL, once the connection is free. What follows is
// done until then: the response may be read, and nobody else asks.
func (s *Session) get(ctx context.Context, method string, at *url.URL) (resp *http.Response, done func(), err error) {
	return s.getPart(ctx, method, at, Part{})
}

// getPart is get for a part of what is there, or the whole: the server chooses.
func (s *Session) getPart(ctx context.Context, method string, at *url.URL, of Part) (resp *http.Response, done func(), err error) {
	return s.Once(ctx, func(asking context.Context) (*http.Response, error) { return s.follow(asking, method, at, of) })
}

// Once asks when the connection is free, as get does.
func (s *Session) Once(ctx context.Context, ask func(context.Context) (*http.Response, error)) (resp *http.Response, done func(), err error) {
	if s.life.Err() != nil {
		return nil, nil, &remote.Error{Op: "use", Path: s.target.Server(), Class: remote.Connection, Err: fmt.Errorf("session ended: %w", net.ErrClosed)}
	}
	if err := remote.Acquire(ctx, s.slot); err != nil {
		return nil, nil, err
	}
	asking, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(net.ErrClosed) })
	release := func() {
		stop()
		cancel(nil)
		<-s.slot
	}
	resp, err = ask(asking)
	if err != nil {
		release()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, err
	}
	return resp, func() {
		Drain(resp)
		release()
	}, nil
}

// Drain reads the little that may be left, so that the connection can be used
// again, and ends the response. One that goes on costs the connection.
func Drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}

// Concurrency is 1: all is asked over one connection.
func (s *Session) Concurrency() int { return 1 }

// Stat describes one path.
func (s *Session) Stat(ctx context.Context, p string) (remote.Entry, error) {
	full, err := remote.Join(s.target.Base, p)
	if err != nil {
		return remote.Entry{}, err
	}
	e, err := s.head(ctx, full)
	if err != nil {
		return remote.Entry{}, s.Fail("stat", p, err)
	}
	return e, nil
}

// head asks for a file's size and time.
func (s *Session) head(ctx context.Context, full string) (remote.Entry, error) {
	if s.cfg.WebDAV {
		return s.property(ctx, full)
	}
	resp, done, err := s.get(ctx, http.MethodHead, s.At(full, false)) //nolint:bodyclose // done closes it
	if errors.Is(err, errDirectory) {
		return remote.Entry{Name: path.Base(full), Size: -1, Kind: remote.Dir}, nil
	}
	if err != nil {
		return remote.Entry{}, err
	}
	defer done()
	return FileOf(full, resp), nil
}

// FileOf is what an answer says of the file with a path. What is no time of HTTP is none: servers
// write 0 or -1 where they know none.
func FileOf(full string, resp *http.Response) remote.Entry {
	e := remote.Entry{Name: path.Base(full), Size: resp.ContentLength, Kind: remote.File}
	if at, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		e.ModTime, e.Precision = at.UTC(), time.Second
	}
	e.Attributes = entityOf(resp.Header)
	return e
}

// entityOf is what an answer's head says of the file, for people.
func entityOf(h http.Header) map[string]string {
	said := map[string]string{}
	for name, header := range map[string]string{"etag": "Etag", "version_id": "X-Amz-Version-Id", "storage_class": "X-Amz-Storage-Class"} {
		if is := h.Get(header); is != "" {
			said[name] = is
		}
	}
	return said
}

// Open streams a file.
func (s *Session) Open(ctx context.Context, p string, _ int64) (io.ReadCloser, error) {
	full, err := remote.Join(s.target.Base, p)
	if err != nil {
		return nil, err
	}
	resp, done, err := s.get(ctx, http.MethodGet, s.At(full, false)) //nolint:bodyclose // done closes it
	if err != nil {
		return nil, s.Fail("open", p, err)
	}
	r := s.Reader(ctx, p, resp, done)
	r.whose = atRest(full, resp)
	return r, nil
}

// Reader brings what an answer to the question for a file has, and is done then.
func (s *Session) Reader(ctx context.Context, p string, resp *http.Response, done func()) *Reader {
	return &Reader{ctx: ctx, s: s, body: resp.Body, path: p, named: VersionOf(resp), heads: headsOf(resp), done: func() {
		// What wasn't read is not worth waiting for.
		_ = resp.Body.Close()
		done()
	}}
}

// Close hangs up: HTTP has no goodbye.
func (s *Session) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first != nil {
		_ = s.first.Close()
		s.first = nil
	}
	s.transport.CloseIdleConnections()
	return nil
}
