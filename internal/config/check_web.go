package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// checkWeb is about where the pages are, and what can be read on the way there.
func (d *decoder) checkWeb(w Web) {
	if w.Prefix != "" && !regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`).MatchString(w.Prefix) {
		d.problem("web.prefix", "%q is no path: write one such as /tributary, without a slash at its end", w.Prefix)
	}
	if (w.CertFile == "") != (w.KeyFile == "") {
		d.problem("web.cert_file", "goes with web.key_file: give both, or neither")
	} else {
		d.readable("web.cert_file", w.CertFile)
		d.readable("web.key_file", w.KeyFile)
	}
	if w.URL != "" {
		d.browsers("web.url", w.URL)
	}
	d.checkOIDC(w.OIDC)
	for i, p := range w.Proxies {
		if _, err := parseNetwork(p); err != nil {
			d.problem(fmt.Sprintf("web.proxies[%d]", i), "%q is neither an address nor a network: write one such as 127.0.0.1 or 10.0.0.0/8", p)
		}
	}
	if w.Listen == "" || w.Listen == NoWeb {
		return
	}
	d.address("web.listen", w.Listen)
	if host, _, err := net.SplitHostPort(w.Listen); err == nil && !loopback(host) && w.CertFile == "" && !w.Insecure {
		d.problem("web.listen", "%s is not of this machine alone, and without TLS passwords can be read on the way: give web.cert_file and web.key_file, or order web.insecure: true", w.Listen)
	}
}

// checkOIDC is about the provider with which people log in.
func (d *decoder) checkOIDC(o OIDC) {
	if o.Issuer == "" {
		if o.ClientID != "" || o.ClientSecret != "" || o.URL != "" {
			d.problem("web.oidc.issuer", "is missing: write the provider's, such as https://id.example.org")
		}
		return
	}
	d.browsers("web.oidc.issuer", o.Issuer)
	d.browsers("web.oidc.url", o.URL)
	if o.ClientID == "" {
		d.problem("web.oidc.client_id", "is missing: write the id under which the provider knows Tributary")
	}
	if o.ClientSecret == "" {
		d.problem("web.oidc.client_secret", "is missing: write file:PATH or env:NAME")
	}
	d.isReference("web.oidc.client_secret", o.ClientSecret)
	if len(o.Roles.Reader)+len(o.Roles.Wrangler)+len(o.Roles.Operator) == 0 {
		d.problem("web.oidc.roles", "gives nobody a role: write which values of %s are reader, wrangler or operator", o.RoleClaim)
	}
}

// browsers is about an address to which people's browsers go.
func (d *decoder) browsers(at, address string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.problem(at, "%q is no address: write one such as https://id.example.org", address)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		d.problem(at, "%s is without TLS, so that others can read who logs in on the way: write https://…", address)
	}
}

// Address is where browsers reach the pages, with the prefix and without a slash at its
// end; empty where nobody says it.
func (w Web) Address() string { return strings.TrimSuffix(cmp.Or(w.URL, w.OIDC.URL), "/") }

// Networks are the proxies' networks.
func (w Web) Networks() []netip.Prefix {
	var all []netip.Prefix
	for _, p := range w.Proxies {
		if network, err := parseNetwork(p); err == nil { // else the check has refused it
			all = append(all, network)
		}
	}
	return all
}

// parseNetwork reads a network, or an address, which is a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Unmap().WithZone("").Prefix(addr.Unmap().BitLen())
	}
	return netip.ParsePrefix(text)
}

// loopback tells whether a host that is listened on is of this machine alone.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
