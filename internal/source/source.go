// Package source turns the configuration of a source into what the connectors
// of package remote need, secrets resolved.
package source

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

// Remote returns how a source is reached, within the limits of whoever reaches it.
// The secrets in it must go nowhere
// but into the Dial of a [remote.Registry].
func Remote(s config.Source, connect, idle config.Duration, limits config.Limits) (remote.Config, error) {
	c := remote.Config{
		URL: s.URL, IdentityFile: s.IdentityFile, IdentityAgent: s.IdentityAgent, KnownHosts: s.KnownHosts, HostKey: s.HostKey, Jump: s.Jump,
		ConnectTimeout: shorter(connect, s.ConnectTimeout), IdleTimeout: shorter(idle, s.IdleTimeout), DisableEPSV: s.DisableEPSV,
		CAFile: s.CAFile, CertificatePin: s.CertificatePin, IgnoreRobots: s.Robots == config.RobotsIgnore, Proxy: s.Proxy, Feed: s.Feed, WebDAV: s.WebDAV,
		Endpoint: s.Endpoint, Region: s.Region, VirtualHosted: s.VirtualHosted,
		Limits: remote.Limits{Reply: int64(limits.Reply), Listing: int64(limits.Listing)},
	}
	var err error
	if s.Password != "" {
		if c.Password, err = s.Password.Resolve(); err != nil {
			return remote.Config{}, fmt.Errorf("source %s: password: %w", s.ID, err)
		}
	}
	if s.IdentityPassphrase != "" {
		if c.IdentityPassphrase, err = s.IdentityPassphrase.Resolve(); err != nil {
			return remote.Config{}, fmt.Errorf("source %s: identity_passphrase: %w", s.ID, err)
		}
	}
	for _, of := range []struct {
		key    string
		secret config.Secret
		to     *string
	}{{"token", s.Token, &c.Token}, {"cookie", s.Cookie, &c.Cookie}, {"headers", s.Headers, &c.Headers}, {"proxy_password", s.ProxyPassword, &c.ProxyPassword}} {
		if *of.to, err = of.secret.Resolve(); err != nil {
			return remote.Config{}, fmt.Errorf("source %s: %s: %w", s.ID, of.key, err)
		}
	}
	return c, nil
}

// shorter is how long is waited: as long as a source says, and no longer than who asks
// waits for any, so that what bounds a member's work bounds it for each source.
func shorter(all, one config.Duration) time.Duration {
	if one == 0 {
		return all.D()
	}
	return min(all, one).D()
}

// Parts are what of a source's configuration may be shown to anyone.
type Parts struct {
	Protocol  string // the scheme of its url
	Address   string // host:port
	Server    string // under which name sessions are counted: what the source says, else its address
	Username  string
	BasePath  string
	URL       string // without a password
	AccessKey string // reference to the secret, never the secret
}

// Describe returns a source's particulars without secrets.
func Describe(s config.Source) Parts {
	p := Parts{Address: connectors.All().Server(remote.Config{URL: s.URL, Endpoint: s.Endpoint, Region: s.Region, VirtualHosted: s.VirtualHosted}), AccessKey: string(cmp.Or(s.Password, s.Token, s.Cookie, s.Headers))}
	if s.IdentityFile != "" {
		p.AccessKey = "file:" + s.IdentityFile
	}
	if u, err := url.Parse(s.URL); err == nil {
		p.Protocol, p.BasePath = u.Scheme, u.Path
		if strings.EqualFold(u.Scheme, "s3") {
			p.BasePath = path.Join("/", u.Host, u.Path) // the bucket, which is at the address
		}
		if u.User != nil {
			p.Username = u.User.Username()
			u.User = url.User(p.Username)
		}
		p.URL = u.String()
		p.Address = cmp.Or(p.Address, strings.ToLower(u.Host))
	}
	p.Server = cmp.Or(strings.ToLower(s.Server), p.Address)
	return p
}
