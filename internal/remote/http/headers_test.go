package http_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

// Headers of a source go to the base's server alone, with each request: also with the one
// for robots.txt. What is kept of a transfer has their names and no value.
func TestHTTPTellsHeadersToTheBaseAlone(t *testing.T) {
	var told []string
	note := func(r *http.Request) {
		told = append(told, strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("User-Agent"), r.Header.Get("Authorization")}, " "))
	}
	other := remotetest.NewSite(t, func(_ http.ResponseWriter, r *http.Request) { note(r) })
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.Header.Get("X-Api-Key") != "s3cret: with colons":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/add/x.zip":
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/mirror", http.StatusFound)
		}
	})
	trace := &remote.Trace{}
	session := remotetest.Dial(t, remote.Config{URL: s.URL, Headers: "x-api-key:  s3cret: with colons \r\n\nUser-Agent: tributary (data@example.org)\nAuthorization: Token t0ken\nVia: t0ken\nCache-Control: t0ken\nDate: t0ken", Trace: trace})
	r, err := session.Open(t.Context(), "add/x.zip", -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	const ours = " s3cret: with colons tributary (data@example.org) Token t0ken"
	if diff := cmp.Diff([]string{"GET /robots.txt" + ours, "HEAD /" + ours, "GET /add/x.zip" + ours, "GET /robots.txt  tributary ", "GET /mirror  tributary "}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	own, err := session.Open(t.Context(), "add/y.zip", -1)
	if err != nil {
		t.Fatal(err)
	}
	if heads := remote.HeadsOf(own); strings.Contains(heads.Request, "s3cret") || strings.Contains(heads.Request, "t0ken") || strings.Contains(heads.Request, "data@example.org") || !strings.Contains(heads.Request, "X-Api-Key: (not kept)") {
		t.Errorf("kept of the request is %s", heads.Request)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = connectors.All().Dial(t.Context(), remote.Config{URL: s.URL, IgnoreRobots: true, Headers: "X-Api-Key: wrong"})
	if remote.Exception(err) != "login_failed" || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with another key: %v", err)
	}
}

// Headers that would not say what was meant are refused, with the line and without a value.
func TestHTTPHeadersThatAreNone(t *testing.T) {
	s := remotetest.NewSite(t, func(http.ResponseWriter, *http.Request) {})
	for text, want := range map[string]string{
		"s3cret":                                 "line 1 of headers is no header",
		"X-A: 1\n\n: s3cret":                     "line 3 of headers is no header",
		"X A: s3cret":                            "line 1 of headers is no header",
		"X-A: s3cret\x00":                        "line 1 of headers is no header",
		"X-A: s3cr\u00e9t":                       "line 1 of headers is no header",
		"X-A:\ts3cret\tb":                        "line 1 of headers is no header",
		"X-A: ":                                  "line 1 of headers, X-A, has no value",
		"cookie: a=s3cret":                       "line 1 of headers, Cookie, is what we tell servers ourselves",
		"X-A: 1\nHOST: elsewhere":                "line 2 of headers, Host, is what we tell servers ourselves",
		"Range: bytes=0-1":                       "line 1 of headers, Range, is what we tell servers ourselves",
		"transfer-encoding: chunked":             "line 1 of headers, Transfer-Encoding, is what we tell servers ourselves",
		"X-A: " + strings.Repeat("s3cret", 1000): "headers have 6005 bytes",
	} {
		_, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.URL, Headers: text})
		if remote.Exception(err) != "bad_source_configuration" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	if asked := s.Asked(); len(asked) > 0 {
		t.Errorf("the server was asked all the same: %v", asked)
	}
	for _, c := range []remote.Config{{Token: "t"}, {Password: "p"}} {
		c.URL, c.Headers = s.URL, "Authorization: Token x"
		if _, err := connectors.All().Dial(t.Context(), c); remote.Exception(err) != "bad_source_configuration" || !strings.Contains(err.Error(), "keep one") {
			t.Errorf("two ways to log in: %v", err)
		}
	}
}
