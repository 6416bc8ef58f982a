package http_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

// A server that is busy may say for how long, in seconds or until when by its own
// clock, and never for longer than a day.
func TestHTTPRetryAfter(t *testing.T) {
	noon := time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"120", 2 * time.Minute},
		{"0", 0},
		{"86401", 24 * time.Hour},
		{"99999999999999999999999", 24 * time.Hour},
		{"-5", 0},
		{"1.5", 0},
		{"soon", 0},
		{noon.Add(time.Hour).Format(http.TimeFormat), time.Hour},
		{noon.Add(-time.Hour).Format(http.TimeFormat), 0},
		{noon.AddDate(1, 0, 0).Format(http.TimeFormat), 24 * time.Hour},
		{"00000000000000000000000000120", 2 * time.Minute},
		{"9223372036854775807", 24 * time.Hour},
		{"+5", 0},
		{"1e9", 0},
		{"NaN", 0},
		{"Inf", 0},
		{"120, 240", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour},
		{"Mon, 01 Jan 0001 00:00:00 GMT", 0},
	} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
			s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", noon.Format(http.TimeFormat))
				w.Header().Set("Retry-After", tt.text)
				w.WriteHeader(status)
			})
			session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
			_, listing := remotetest.Listed(t, session, "add")
			_, dialling := connectors.All().Dial(t.Context(), remote.Config{URL: s.URL}) // for robots.txt
			for about, err := range map[string]error{"list": listing, "open": remotetest.FetchAll(t, session), "robots.txt": dialling} {
				if got, busy := remote.RetryAfter(err), remote.ClassOf(err) == remote.Busy; got != tt.want || busy != (status != http.StatusInternalServerError) {
					t.Errorf("%s, %d, %q: %s (%v), want %s", about, status, tt.text, got, err, tt.want)
				}
				if told := strings.Contains(fmt.Sprint(err), "of which a day is heeded"); told != (tt.want == 24*time.Hour) {
					t.Errorf("%s, %d, %q: told %v that it is bounded: %v", about, status, tt.text, told, err)
				}
			}
		}
	}
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(status)
		})
		if err := remotetest.FetchAll(t, remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})); err == nil || remote.RetryAfter(err) != 0 {
			t.Errorf("a server that answers %d is left alone for %s (%v)", status, remote.RetryAfter(err), err)
		}
	}
	if got := remote.RetryAfter(fmt.Errorf("another error")); got != 0 {
		t.Errorf("another error asks for %s", got)
	}
}

// A cookie is told to the base's server alone, and what servers set is not kept.
func TestHTTPLogsInByCookie(t *testing.T) {
	var told []string
	cookies := func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.URL.Path+" "+r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "track", Value: "1"})
	}
	other := remotetest.NewSite(t, cookies)
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		cookies(w, r)
		if r.URL.Path == "/add/x.zip" {
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/mirror", http.StatusFound)
		}
	})
	session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true, Cookie: "sid=s3cret; b=c"})
	for range 2 {
		if err := remotetest.FetchAll(t, session); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/ sid=s3cret; b=c", "/add/x.zip sid=s3cret; b=c", "/mirror ", "/add/x.zip sid=s3cret; b=c", "/mirror "}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	for _, cookie := range []string{"a=b\r\nX: y", "a=\x00", "a=é"} {
		_, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.URL, IgnoreRobots: true, Cookie: cookie})
		if remote.Exception(err) != "bad_source_configuration" {
			t.Errorf("%q: %v", cookie, err)
		}
	}
}

// What is kept of heads tells of the transfer, and no secret.
func TestHTTPHeadsHoldNoSecret(t *testing.T) {
	secrets := []string{"s3cret", "c00kie", "signed", "n0nce"}
	mirror := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "a=c00kie")
		w.Header().Set("X-Auth-Token", "s3cret")
		w.Header().Set("ETag", `"v1"`)
		for i := range 100 {
			w.Header().Set(fmt.Sprintf("X-Long-%d", i), "n0nce")
		}
		_, _ = io.WriteString(w, "bytes")
	})
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/add/x.zip":
			http.Redirect(w, r, mirror.URL+"/m.zip?signature=signed", http.StatusFound)
		case "/add/gone.zip":
			w.Header().Set("WWW-Authenticate", "n0nce")
			w.WriteHeader(http.StatusNotFound)
		}
	})
	session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true, Token: "s3cret", Cookie: "a=c00kie"})
	r, err := session.Open(t.Context(), "add/x.zip", 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, gone := session.Open(t.Context(), "add/gone.zip", 5)
	came, refused := remote.HeadsOf(r), remote.HeadsOfError(gone)
	for _, want := range []struct{ in, what string }{
		{came.Request, "GET " + mirror.URL + "/m.zip?…; Accept"}, {came.Response, `HTTP/1.1 200 OK; `}, {came.Response, `Etag: "v1"`},
		{refused.Request, "Authorization: (not kept); Cookie: (not kept)"}, {refused.Response, "HTTP/1.1 404 Not Found"},
	} {
		if !strings.Contains(want.in, want.what) {
			t.Errorf("%q lacks %q", want.in, want.what)
		}
	}
	for _, head := range []string{came.Request, came.Response, refused.Request, refused.Response} {
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(head, s) }) || len(head) > 1000 {
			t.Errorf("a head of %d bytes: %s", len(head), head)
		}
	}
}

// proxy is an HTTP proxy that notes what it is told.
type proxy struct {
	url string

	mu   sync.Mutex
	seen []string
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.Host + r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Cookie")}, " ")))
		p.mu.Unlock()
		if user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); user != "who" || password != "pr0xy" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method == http.MethodConnect {
			tunnel(t, w, r.Host)
			return
		}
		r.RequestURI = ""
		r.Header.Del("Proxy-Authorization")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(func() { s.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	p.url = strings.Replace(s.URL, "://", "://who@", 1)
	return p
}

func (p *proxy) told() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// tunnel carries bytes both ways until one side ends.
func tunnel(t *testing.T, w http.ResponseWriter, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// A proxy is told its own password, and of a server within TLS nothing but its name;
// servers are told nothing of the proxy's.
func TestHTTPGoesThroughAProxy(t *testing.T) {
	var mu sync.Mutex
	var leaked []string
	serve := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != "" {
			leaked = append(leaked, r.URL.Path)
		}
		switch r.URL.Path {
		case "/add/x.zip":
			_, _ = io.WriteString(w, "bytes")
		default:
			page(w, `<title>Index of /</title><a href="x.zip">x</a>`)
		}
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(serve))
	t.Cleanup(secure.Close)
	ca := remotetest.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	plain := remotetest.NewSite(t, serve)
	for _, tt := range []struct {
		about, url string
		want       []string
	}{
		{"http", plain.URL, []string{"HEAD HOST/ Bearer t0ken sid=1", "GET HOST/add/ Bearer t0ken sid=1", "HEAD HOST/add/x.zip Bearer t0ken sid=1", "GET HOST/add/x.zip Bearer t0ken sid=1"}},
		{"https", secure.URL, []string{"CONNECT HOST"}},
	} {
		p := newProxy(t)
		c := remote.Config{URL: tt.url, IgnoreRobots: true, CAFile: ca, Token: "t0ken", Cookie: "sid=1", Proxy: p.url, ProxyPassword: "pr0xy"}
		session := remotetest.Dial(t, c)
		got, err := remotetest.Listed(t, session, "add")
		if diff := cmp.Diff([]string{"file x.zip"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.about, err, diff)
		}
		if err := remotetest.FetchAll(t, session); err != nil {
			t.Errorf("%s: %v", tt.about, err)
		}
		_, host, _ := strings.Cut(tt.url, "://")
		for i := range tt.want {
			tt.want[i] = strings.Replace(tt.want[i], "HOST", host, 1)
		}
		if diff := cmp.Diff(tt.want, p.told()); diff != "" {
			t.Errorf("%s: the proxy is told (-want +got):\n%s", tt.about, diff)
		}
		c.ProxyPassword = "wrong"
		if _, err := connectors.All().Dial(t.Context(), c); remote.Exception(err) != "login_failed" {
			t.Errorf("%s, a wrong password: %v (%s)", tt.about, err, remote.Exception(err))
		}
	}
	if len(leaked) > 0 {
		t.Errorf("the proxy's password went along to %v", leaked)
	}
}

// Whatever stands in a proxy's place, connecting ends and says so.
func TestHTTPProxiesThatAreNone(t *testing.T) {
	for about, tt := range map[string]struct {
		answer func(io.Writer)
		want   string
	}{
		"refuses":        {says("HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n"), "connection_failed"},
		"no proxy":       {says("HTTP/1.1 405 Method Not Allowed\nContent-Length: 0\n\n"), "connection_failed"},
		"talks on":       {says("HTTP/1.1 200 OK\n\nHello"), "protocol_error"},
		"hangs up":       {func(io.Writer) {}, "connection_lost"},
		"other protocol": {remotetest.Starts("220 hello\r\n"), "protocol_error"},
		"no end":         {remotetest.Then(remotetest.Starts("HTTP/1.1 200 OK\r\n"), remotetest.Endless("X-Filler: y\r\n")), "reply_too_long"},
		"silence":        {silence, "timed_out"},
		"a slow header":  {remotetest.Drip("HTTP/1.1 200 OK\r\nX: ", 20*time.Millisecond), "timed_out"},
	} {
		p := strings.TrimSuffix(liar(t, tt.answer), "/")
		s, err := connectors.All().Dial(t.Context(), remote.Config{URL: "https://files.example.org/", Proxy: p, ConnectTimeout: remotetest.Within(tt.want, 500*time.Millisecond), IdleTimeout: remotetest.Within(tt.want, 250*time.Millisecond)})
		if err == nil {
			_ = s.Close()
		}
		if remote.Exception(err) != tt.want {
			t.Errorf("%s: %v (%s), want %s", about, err, remote.Exception(err), tt.want)
		}
	}
	for _, bad := range []string{"proxy:3128", "https://proxy", "socks5://proxy:1", "http://", "http://u:s3cret@proxy", "http://proxy/path", "http://proxy?x", "http://%zz"} {
		_, err := connectors.All().Dial(t.Context(), remote.Config{URL: "http://127.0.0.1:1/", Proxy: bad})
		if remote.Exception(err) != "bad_source_configuration" || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v (%s)", bad, err, remote.Exception(err))
		}
	}
}

// The rules of whom a request goes to hold, also where a server sends on to another: its
// robots.txt is asked for once, before anything else is.
func TestHTTPHeedsRobotsOfWhomItIsSentTo(t *testing.T) {
	const robots, file = "GET /robots.txt", "GET /mirror/x.zip"
	for about, tt := range map[string]struct {
		status int    // of the other's robots.txt
		robots string // what it says
		ignore bool
		want   string // the exception
		asked  []string
	}{
		"everybody may":                     {200, "User-agent: *\nDisallow: /private\n", false, "", []string{robots, file, file}},
		"nobody may":                        {200, "User-agent: *\nDisallow: /\n", false, "robots_forbidden", []string{robots}},
		"we may not":                        {200, "User-agent: tributary\nDisallow: /mirror\n", false, "robots_forbidden", []string{robots}},
		"nobody may, and is asked the same": {200, "User-agent: *\nDisallow: /\n", true, "", []string{file, file}},
		"it has none":                       {404, "", false, "", []string{robots, file, file}},
		"it is in trouble":                  {500, "", false, "connection_lost", []string{robots, robots}},
		"it is busy":                        {429, "", false, "server_busy", []string{robots, robots}},
	} {
		t.Run(about, func(t *testing.T) {
			other := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.robots)
				}
			})
			s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					_, _ = io.WriteString(w, "User-agent: *\nDisallow: /mirror\n") // which says nothing of another server's
					return
				}
				sendTo(other.URL+"/mirror/x.zip")(w, r)
			})
			session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: tt.ignore})
			for range 2 {
				if err := remotetest.FetchAll(t, session); remote.Exception(err) != tt.want {
					t.Errorf("%v (%s), want %q", err, remote.Exception(err), tt.want)
				}
			}
			if diff := cmp.Diff(tt.asked, other.Asked()); diff != "" {
				t.Errorf("the other server is asked (-want +got):\n%s", diff)
			}
		})
	}
}
