package remote

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// connector is all that there is to say of one scheme of URLs.
type connector struct {
	scheme string
	// example is such a URL, for messages.
	example string
	// port is the protocol's own. Empty: there is no server, the files are this
	// machine's.
	port string
	// user logs in where the URL names nobody.
	user string
	// needsUser: the URL has to name somebody.
	needsUser bool
	// rooted: a second slash before the path means that it is absolute.
	rooted bool
	// keys are those of a source's configuration that apply, beside the keys that
	// have nothing to do with how a source is reached.
	keys []string
	// refuse, where it is set, says what is wrong with a URL of this scheme.
	refuse func(t Target, u *url.URL) error
	// server, where it is set, is what is connected to: not the URL's host.
	server func(c Config, t Target) (Target, error)
	// dial opens a session; it tells step which step begins (detail empty) or has
	// ended well.
	dial func(ctx context.Context, c Config, t Target, step func(name, detail string)) (Session, error)
}

// connectors are all schemes that there are: to add one is to add its row.
func connectors() []connector {
	return []connector{
		{
			scheme: "sftp", example: "sftp://user@host:22/path", port: "22", needsUser: true, dial: dialSFTP,
			keys: []string{"connect_timeout", "idle_timeout", "password", "identity_file", "identity_passphrase", "identity_agent", "known_hosts", "host_key", "jump", "done_with"},
		},
		{
			scheme: "ftp", example: "ftp://user@host/path", port: "21", user: "anonymous", rooted: true, dial: dialFTP,
			keys: []string{"connect_timeout", "idle_timeout", "password", "disable_epsv", "done_with"},
		},
		{
			scheme: "ftpes", example: "ftpes://user@host/path", port: "21", user: "anonymous", rooted: true, dial: dialFTP,
			keys: []string{"connect_timeout", "idle_timeout", "password", "disable_epsv", "ca_file", "certificate_pin", "done_with"},
		},
		{
			scheme: "ftps", example: "ftps://user@host:990/path", port: "990", user: "anonymous", rooted: true, dial: dialFTP,
			keys: []string{"connect_timeout", "idle_timeout", "password", "disable_epsv", "ca_file", "certificate_pin", "done_with"},
		},
		{
			scheme: "https", example: "https://host/path", port: "443", dial: dialHTTP,
			keys: []string{"connect_timeout", "idle_timeout", "password", "token", "cookie", "proxy", "proxy_password", "robots", "feed", "webdav", "done_with", "ca_file", "certificate_pin"},
		},
		{scheme: "http", example: "http://host/path", port: "80", dial: dialHTTP, keys: []string{"connect_timeout", "idle_timeout", "password", "token", "cookie", "proxy", "proxy_password", "robots", "feed", "webdav", "done_with"}},
		{
			scheme: "s3", example: "s3://bucket/prefix", port: "443", refuse: refuseS3, server: s3Server, dial: dialS3,
			keys: []string{"connect_timeout", "idle_timeout", "password", "proxy", "proxy_password", "ca_file", "certificate_pin", "endpoint", "region", "virtual_hosted", "done_with"},
		},
		{scheme: "file", example: "file:///path", dial: openLocal, keys: []string{"done_with"}},
	}
}

func connectorOf(scheme string) (connector, error) {
	for _, c := range connectors() {
		if c.scheme == scheme {
			return c, nil
		}
	}
	return connector{}, &Error{class: Misconfigured, exception: "protocol_unknown", Err: fmt.Errorf("url scheme %q is not known here: use %s", scheme, list("or", schemes(connectors())))}
}

// SchemesWith are the schemes of the sources to which a key of the configuration
// applies; none: it has nothing to do with how a source is reached, so applies to all.
func SchemesWith(key string) []string {
	return schemes(slices.DeleteFunc(connectors(), func(c connector) bool { return !slices.Contains(c.keys, key) }))
}

// Examples are URLs of every scheme, for messages: a, b or c.
func Examples() string {
	var all []string
	for _, c := range connectors() {
		all = append(all, c.example)
	}
	return list("or", all)
}

func schemes(of []connector) (out []string) {
	for _, c := range of {
		out = append(out, c.scheme)
	}
	return out
}

// list joins words as a sentence does.
func list(last string, words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// ParseURL checks a source URL. Its errors name what is wrong and never repeat
// a password.
func ParseURL(raw string) (Target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse repeats the URL, which may hold a password.
		return Target{}, fmt.Errorf("url can't be parsed: write it as %s, with special characters as %%XX", Examples())
	}
	t := Target{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Hostname()), Port: u.Port(), Base: u.Path}
	if _, ok := u.User.Password(); ok {
		return Target{}, fmt.Errorf("url holds a password: take it out, put it into a file and write password: file:PATH")
	}
	t.User = u.User.Username()
	if u.RawQuery != "" || u.Fragment != "" {
		return Target{}, fmt.Errorf("url %s://%s%s has a ? or # part, which no source uses: write %%3F or %%23 when it belongs to the path", t.Scheme, u.Host, u.Path)
	}
	if strings.ContainsAny(t.Base, "\x00\r\n") {
		return Target{}, fmt.Errorf("url has a control character in its path")
	}
	known, err := connectorOf(t.Scheme)
	if err != nil {
		return Target{}, err
	}
	if err := known.complete(&t, u); err != nil {
		return Target{}, err
	}
	double := known.rooted && strings.HasPrefix(t.Base, "//")
	t.Base = path.Clean("/" + t.Base)
	if double {
		t.Base = "/" + t.Base
	}
	return t, nil
}

// complete fills in what a URL of this scheme need not say, and refuses one that
// lacks what it must.
func (c connector) complete(t *Target, u *url.URL) error {
	if c.port == "" {
		switch {
		case u.Host != "" && u.Host != "localhost":
			return fmt.Errorf("url %s names a host: a local directory is written %s", u.Redacted(), c.example)
		case !path.IsAbs(t.Base):
			return fmt.Errorf("url %s has no absolute path: write %s, with three slashes", u.Redacted(), c.example)
		}
		t.Host, t.Port, t.User = "", "", ""
		return nil
	}
	switch {
	case t.Host == "":
		return fmt.Errorf("url %s has no host: write %s", u.Redacted(), c.example)
	case t.User == "" && c.needsUser:
		return fmt.Errorf("url %s has no user: write %s://user@%s%s", u.Redacted(), c.scheme, u.Host, u.Path)
	}
	if t.User == "" {
		t.User = c.user
	}
	if c.refuse != nil {
		if err := c.refuse(*t, u); err != nil {
			return err
		}
	}
	if t.Port == "" {
		t.Port = c.port
	}
	return nil
}
