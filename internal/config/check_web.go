package config

import (
	"net"
	"net/netip"
	"regexp"
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
	if w.Listen == "" {
		return
	}
	d.address("web.listen", w.Listen)
	if host, _, err := net.SplitHostPort(w.Listen); err == nil && !loopback(host) && w.CertFile == "" && !w.Insecure {
		d.problem("web.listen", "%s is not of this machine alone, and without TLS passwords can be read on the way: give web.cert_file and web.key_file, or order web.insecure: true", w.Listen)
	}
}

// loopback tells whether a host that is listened on is of this machine alone.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
