package remote

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Connector is all that there is to say of one scheme of URLs: its row in the
// [Registry].
type Connector struct {
	Scheme string
	// Example is such a URL, for messages.
	Example string
	// About says what the connector can.
	About About
	// Port is the protocol's own. Empty: there is no server, the files are this
	// machine's.
	Port string
	// User logs in where the URL names nobody.
	User string
	// NeedsUser: the URL has to name somebody.
	NeedsUser bool
	// Rooted: a second slash before the path means that it is absolute.
	Rooted bool
	// Keys are those of a source's configuration that apply, beside the keys that
	// have nothing to do with how a source is reached.
	Keys []string
	// Protocol is its number in the tracker's table source_protocol, which has one for
	// all schemes of a protocol: whether a connection is encrypted is in the url.
	Protocol int
	// Refuse, where it is set, says what is wrong with a URL of this scheme.
	Refuse func(t Target, u *url.URL) error
	// Server, where it is set, is what is connected to: not the URL's host.
	Server func(c Config, t Target) (Target, error)
	// Remedy, where it is set, says what a person can do about an error; empty: what is
	// to be done about one of any source.
	Remedy func(err error, c Config) string
	// Where, where it is set, is the place on the way to the server at which connecting
	// failed, for messages; empty: the server itself.
	Where func(err error) string
	// Dial opens a session; it tells step which step begins (detail empty) or has
	// ended well. Callers use [Registry.Dial], which bounds it.
	Dial func(ctx context.Context, c Config, t Target, step func(name, detail string)) (Session, error)
}

// Registry are the connectors that a program has, by scheme, in the order in which
// messages name them.
type Registry []Connector

func (r Registry) of(scheme string) (Connector, error) {
	for _, c := range r {
		if c.Scheme == scheme {
			return c, nil
		}
	}
	return Connector{}, &Error{Class: Misconfigured, Exception: "protocol_unknown", Err: fmt.Errorf("url scheme %q is not known here: use %s", scheme, list("or", schemes(r)))}
}

// SchemesWith are the schemes of the sources to which a key of the configuration
// applies; none: it has nothing to do with how a source is reached, so applies to all.
func (r Registry) SchemesWith(key string) []string {
	return schemes(slices.DeleteFunc(slices.Clone(r), func(c Connector) bool { return !slices.Contains(c.Keys, key) }))
}

// Examples are URLs of every scheme, for messages: a, b or c.
func (r Registry) Examples() string {
	var all []string
	for _, c := range r {
		all = append(all, c.Example)
	}
	return list("or", all)
}

// Protocol is the number under which the tracker has sources of a scheme; 0: there is
// no such connector.
func (r Registry) Protocol(scheme string) int {
	known, _ := r.of(scheme) // which then has none
	return known.Protocol
}

func schemes(of Registry) (out []string) {
	for _, c := range of {
		out = append(out, c.Scheme)
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
func (r Registry) ParseURL(raw string) (Target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse repeats the URL, which may hold a password.
		return Target{}, fmt.Errorf("url can't be parsed: write it as %s, with special characters as %%XX", r.Examples())
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
	known, err := r.of(t.Scheme)
	if err != nil {
		return Target{}, err
	}
	if err := known.complete(&t, u); err != nil {
		return Target{}, err
	}
	double := known.Rooted && strings.HasPrefix(t.Base, "//")
	t.Base = path.Clean("/" + t.Base)
	if double {
		t.Base = "/" + t.Base
	}
	return t, nil
}

// complete fills in what a URL of this scheme need not say, and refuses one that
// lacks what it must.
func (c Connector) complete(t *Target, u *url.URL) error {
	if c.Port == "" {
		switch {
		case u.Host != "" && u.Host != "localhost":
			return fmt.Errorf("url %s names a host: a local directory is written %s", u.Redacted(), c.Example)
		case !path.IsAbs(t.Base):
			return fmt.Errorf("url %s has no absolute path: write %s, with three slashes", u.Redacted(), c.Example)
		}
		t.Host, t.Port, t.User = "", "", ""
		return nil
	}
	switch {
	case t.Host == "":
		return fmt.Errorf("url %s has no host: write %s", u.Redacted(), c.Example)
	case t.User == "" && c.NeedsUser:
		return fmt.Errorf("url %s has no user: write %s://user@%s%s", u.Redacted(), c.Scheme, u.Host, u.Path)
	}
	if t.User == "" {
		t.User = c.User
	}
	if c.Refuse != nil {
		if err := c.Refuse(*t, u); err != nil {
			return err
		}
	}
	if t.Port == "" {
		t.Port = c.Port
	}
	return nil
}
