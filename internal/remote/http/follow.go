package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tributary/internal/remote"
)

// maxRedirects is how often one question is sent on. It is fixed: RFC 9309 asks
// for five, and mirrors need two.
const maxRedirects = 5

// errDirectory says that the server sends to the same path with a slash after it.
var errDirectory = &remote.Error{Class: remote.Unclassified, Err: errors.New("it is a directory")}

// follow asks for what is at a URL, wherever the server sends to from there, and
// returns a response that is neither a refusal nor packed.
func (s *Session) follow(ctx context.Context, method string, at *url.URL, of Part) (*http.Response, error) {
	for range maxRedirects + 1 {
		resp, err := s.ask(ctx, method, at, of)
		if err != nil {
			return nil, err
		}
		if !Redirects(resp.StatusCode) {
			if err := Refusal(resp, of); err != nil {
				Drain(resp)
				return nil, err
			}
			return resp, nil
		}
		to, err := resp.Location()
		Drain(resp)
		switch {
		case err != nil:
			return nil, sentOn("to no address that can be read: %w", err)
		case to.Scheme != "http" && to.Scheme != "https" || to.Host == "":
			return nil, sentOn("to %s, which is no address of HTTP", withoutSecrets(to))
		case at.Scheme == "https" && to.Scheme == "http":
			return nil, sentOn("from https to http, %s, where nobody vouches for what arrives", withoutSecrets(to))
		case sameOrigin(to, at) && to.EscapedPath() == at.EscapedPath()+"/":
			return nil, errDirectory
		case s.proxy != nil && inwardByName(s.target.Host, to.Hostname()):
			return nil, sentOn("to %s, a name of the proxy's own network, which a server outside has no business with", to.Host)
		}
		at = to
	}
	return nil, sentOn("more than %d times, in the end to %s", maxRedirects, withoutSecrets(at))
}

// sentOn is the error of a redirect that isn't followed. It says nothing of other
// files.
func sentOn(format string, args ...any) error {
	return &remote.Error{Class: remote.Unclassified, Err: fmt.Errorf("the server sends on "+format, args...)}
}

// Redirects tells whether a status sends on to another URL.
func Redirects(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

// ask sends one request. Only the base's server is told who asks.
func (s *Session) ask(ctx context.Context, method string, at *url.URL, of Part) (*http.Response, error) {
	same := sameOrigin(at, &s.root)
	if !s.cfg.IgnoreRobots && !of.robots {
		if err := s.permit(ctx, at); err != nil {
			return nil, err
		}
	}
	req := (&http.Request{Method: method, URL: at, Host: at.Host, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{
		"User-Agent": {UserAgent}, "Accept": {"*/*"}, "Accept-Encoding": {"identity"},
	}}).WithContext(ctx)
	if same {
		maps.Copy(req.Header, s.headers)
	}
	if same && s.authorization != "" {
		req.Header.Set("Authorization", s.authorization)
	}
	if same && s.cfg.Cookie != "" {
		req.Header.Set("Cookie", s.cfg.Cookie)
	}
	of.ask(req)
	return s.Send(req)
}

// Send sends a request when the server may be asked.
func (s *Session) Send(req *http.Request) (*http.Response, error) {
	began := time.Now()
	answered, err := s.cfg.Asking(req.Context())
	if err != nil {
		return nil, err
	}
	defer answered()
	if time.Since(began) > idleConnection {
		s.mu.Lock()
		first := s.first
		s.first = nil
		s.mu.Unlock()
		if first != nil {
			_ = first.Close()
		}
		s.transport.CloseIdleConnections()
	}
	return s.roundTrip(req)
}

// roundTrip asks, and hears what the base's server says of its clock.
func (s *Session) roundTrip(req *http.Request) (*http.Response, error) {
	asked := s.cfg.Clock.Ours()
	resp, err := s.transport.RoundTrip(req)
	if err == nil && sameOrigin(req.URL, &s.root) {
		s.cfg.Clock.Hear(resp.Header, asked, s.cfg.Clock.Ours())
	}
	return resp, err
}

// idleConnection is how long a connection may have waited for its request: servers hang
// up on such ones, some after five seconds.
const idleConnection = 2 * time.Second

// sameOrigin tells whether secrets for one URL may go to another. Index pages ask it of
// each of their links.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && (a.Host == b.Host || strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b))
}

// port is a URL's, or its scheme's.
func port(u *url.URL) string {
	return cmp.Or(u.Port(), defaultPort(u.Scheme))
}

// Refusal is the error of a response that isn't what was asked for.
func Refusal(resp *http.Response, of Part) error {
	if of.expects(resp.StatusCode) {
		if packed := resp.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
			return &remote.Error{Class: remote.Unclassified, Err: fmt.Errorf("the server packs it (Content-Encoding: %s), though asked for the bytes as they are", packed)}
		}
		return nil
	}
	e := &remote.Error{Class: classifyHTTP(resp.StatusCode), Err: fmt.Errorf("the server answers %s", resp.Status)}
	if of.Offset > 0 && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		e.Err = fmt.Errorf("%w: %w", remote.ErrNotResumed, e.Err)
	}
	if of.robots && e.Class == remote.Unclassified && resp.StatusCode >= http.StatusBadRequest {
		e.Class = remote.NotExist // RFC 9309: whatever the server refuses it with, it has no wishes
	}
	if of.depth != "" && e.Class == remote.Unclassified {
		e.Class, e.Exception = remote.Protocol, "no_index_page"
		e.Err = fmt.Errorf("%w to PROPFIND, as where there is no WebDAV", e.Err)
	}
	e.Heads = headsOf(resp)
	comeBack(e, resp)
	return e
}

// classifyHTTP gives a refusal its class.
func classifyHTTP(status int) remote.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return remote.Auth
	case http.StatusForbidden:
		return remote.Permission
	case http.StatusNotFound, http.StatusGone:
		return remote.NotExist
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return remote.Busy
	}
	if status >= http.StatusInternalServerError {
		return remote.Connection
	}
	return remote.Unclassified
}

// Fail says what was being done, and gives an error of the transport its class.
func (s *Session) Fail(op, p string, err error) error {
	var own *remote.Error
	if err == nil || errors.As(err, &own) {
		return remote.Wrap(op, p, err)
	}
	if of := remote.TLSError(op, p, err); errors.As(of, &own) {
		return of
	}
	e := &remote.Error{Op: op, Path: p, Err: err, Class: remote.ClassOf(err)}
	switch {
	case strings.Contains(err.Error(), "response headers exceeded"):
		// The library has no other name for it.
		e.Class, e.Exception = remote.Protocol, "reply_too_long"
		e.Err = fmt.Errorf("the header of its answer is longer than limits.reply, %d bytes", s.cfg.Limits.Reply)
	case e.Class == remote.Unclassified:
		e.Class = remote.Protocol
	default:
		return remote.Wrap(op, p, err)
	}
	return e
}
