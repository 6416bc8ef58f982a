package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"tributary/internal/config"
)

// ports finds out whether the addresses to listen at are this machine's, and whether
// another program listens there. No port is taken for it, since a member may just be
// starting.
func (d Deps) ports(ctx context.Context, r *report) {
	web := d.Config.Web
	scheme := map[bool]string{true: "https", false: "http"}[web.CertFile != ""]
	for _, p := range []struct{ key, at, ask, expect string }{
		{"http.listen", d.Config.HTTP.Listen, "http://%s/livez", "ok\n"},
		{"web.listen", strings.TrimPrefix(web.Listen, config.NoWeb), scheme + "://%s" + web.Prefix + "/static/tributary.css", ""},
		{"kafka.listen_address", only(d.embedded().Kafka, d.Config.Kafka.ListenAddress), "", ""},
		{"postgres.listen", only(d.embedded().Postgres, d.Config.Postgres.Listen), "", ""},
	} {
		if p.at != "" {
			d.port(ctx, r, p.key, p.at, p.ask, p.expect)
		}
	}
}

func only(is bool, address string) string {
	if is {
		return address
	}
	return ""
}

func (d Deps) port(ctx context.Context, r *report, key, at, ask, expect string) {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		r.failed(key, err)
		return
	}
	// Some free port of the host: the one that is meant may be about to be taken.
	trial, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		r.found(PortUnusable, key, "correct "+key+": ip address lists this machine's", "nobody can listen at %s here: %s", at, err)
		return
	}
	_ = trial.Close() // nobody came
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	switch {
	case port == "0" || errors.Is(err, syscall.ECONNREFUSED):
		r.ok(key, "nobody listens at %s: it is free", at)
		return
	case err != nil:
		r.failed(key, err)
		return
	}
	_ = conn.Close() // nothing was said
	if ask == "" || ours(ctx, fmt.Sprintf(ask, net.JoinHostPort(host, port)), expect) {
		r.ok(key, "it is listened at %s", at)
		return
	}
	r.found(PortTaken, key, "stop what listens there (ss -ltnp names it), or choose another address", "what listens at %s is not Tributary", at)
}

// ours tells whether Tributary answers at an address.
func ours(ctx context.Context, address, expect string) bool {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	answer, err := localClient().Do(q)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return err == nil && answer.StatusCode == http.StatusOK && (expect == "" && answer.Header.Get("Content-Security-Policy") != "" || expect == string(text))
}

// localClient asks this machine itself: whose name a certificate has is another
// matter.
func localClient() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // nothing is believed or told
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
