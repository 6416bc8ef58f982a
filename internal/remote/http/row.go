// Package http reads sources over HTTP: what is in a directory is told by its index page,
// by a feed, or by WebDAV. Buckets of S3 stand on its sessions.
package http

import (
	"context"

	"tributary/internal/remote"
)

// Connectors are the rows of HTTP, encrypted and not.
func Connectors() remote.Registry {
	keys := func(more ...string) []string {
		return append([]string{"connect_timeout", "idle_timeout", "password", "token", "cookie", "headers", "proxy", "proxy_password", "robots", "feed", "webdav", "done_with"}, more...)
	}
	return remote.Registry{
		{Scheme: "https", Example: "https://host/path", About: about("what a web server lists, links to or feeds", "by its certificate: the system's authorities, `ca_file` or `certificate_pin`"), Port: defaultPort("https"), Protocol: 3, Dial: dial, Keys: keys("ca_file", "certificate_pin")},
		{Scheme: "http", Example: "http://host/path", About: about("the same without TLS, which anybody on the way can read", "not at all"), Port: defaultPort("http"), Protocol: 3, Dial: dial, Keys: keys()},
	}
}

// defaultPort is the port of a URL that names none; empty where the scheme isn't HTTP.
func defaultPort(scheme string) string {
	return map[string]string{"http": "80", "https": "443"}[scheme]
}

func dial(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (remote.Session, error) {
	s, err := Dial(ctx, c, t, step)
	if err != nil {
		return nil, err // a nil *Session would be a session
	}
	return s, nil
}
