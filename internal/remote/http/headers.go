package http

import (
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"tributary/internal/remote"
)

// maxHeaders is how many bytes the headers of a source may have in all. It is fixed: many
// servers take no more than 8 KiB with each request.
const maxHeaders = 4 << 10

// extraHeaders are what a source's server is told besides. An error names no value, which may
// be a secret.
func extraHeaders(c remote.Config, t remote.Target) (http.Header, error) {
	wrong := func(format string, args ...any) error {
		return &remote.Error{Op: remote.OpLogin, Path: t.Server(), Class: remote.Misconfigured, Err: fmt.Errorf(format, args...)}
	}
	if len(c.Headers) > maxHeaders {
		return nil, wrong("headers have %d bytes: no more than %d go along with each request", len(c.Headers), maxHeaders)
	}
	var all http.Header
	n := 0
	for line := range strings.Lines(c.Headers) {
		n++
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimSpace(value)
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			return nil, wrong("line %d of headers is no header: write Name: value", n)
		case value == "":
			return nil, wrong("line %d of headers, %s, has no value", n, name)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case name == "Authorization" && (t.User != "" || c.Password != "" || c.Token != ""):
			return nil, wrong("the header Authorization is one way to log in, and user and password, or token, another: keep one")
		case slices.Contains(ours(), name):
			return nil, wrong("line %d of headers, %s, is what we tell servers ourselves: take it out", n, name)
		}
		if all == nil {
			all = http.Header{}
		}
		all[name] = append(all[name], value)
	}
	return all, nil
}

// ours are the headers that a source can't have, since what is asked for, and how it comes,
// depends on them, or another key is for them.
func ours() []string {
	return []string{
		"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Cookie", "Depth", "Destination", "Expect", "Host", "If", "If-Match", "If-Modified-Since",
		"If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive", "Overwrite", "Proxy-Authorization", "Proxy-Connection", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	}
}
