package access

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// cookieName is what the session's cookie is called. Browsers take __Host- and
// __Secure- from TLS only, and __Host- from this very host for all of its pages: no
// other site of the domain can set one. What has another prefix has another cookie.
func (g *Guard) cookieName() string {
	name := "tributary" + strings.ReplaceAll(g.cfg.Prefix, "/", ".")
	switch {
	case !g.cfg.Secure:
		return name
	case g.cfg.Prefix != "":
		return "__Secure-" + name
	}
	return "__Host-" + name
}

// cookie ends with the browser; the session ends by itself.
func (g *Guard) cookie(secret string) *http.Cookie {
	path := g.cfg.Prefix
	if path == "" {
		path = "/"
	}
	return &http.Cookie{Name: g.cookieName(), Value: secret, Path: path, Secure: g.cfg.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// session is the digest of the session that the request names; nil for none, and for
// several, of which another site has set one.
func (g *Guard) session(r *http.Request) []byte {
	cookies := r.CookiesNamed(g.cookieName())
	if len(cookies) != 1 {
		return nil
	}
	return digest(cookies[0].Value)
}

// address is who asks, as far as that is known: what the outermost of our proxies
// says, else who is connected. Of IPv6 it is the network, of which everybody has many.
func (g *Guard) address(r *http.Request) string {
	connected, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	from := connected.Addr().Unmap()
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(said) {
		if !g.isProxy(from) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		from = before.Unmap()
	}
	if from.Is6() {
		if network, err := from.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return from.String()
}

func (g *Guard) isProxy(a netip.Addr) bool {
	return slices.ContainsFunc(g.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}
