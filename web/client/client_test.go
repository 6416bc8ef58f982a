package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
)

func made(t *testing.T, server string) *Client {
	t.Helper()
	c, err := New(Config{Server: server, Token: "secret", Version: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A list is asked for page after page, and no further than its limit.
func TestPages(t *testing.T) {
	const all = 2500
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("after"))
		limit, err := strconv.Atoi(q.Get("limit"))
		if err != nil || limit < 1 || limit > report.MaxPage || q.Get("waiting") != "true" {
			t.Errorf("asked %s", r.URL)
		}
		p := report.Page[report.File]{}
		for i := from; i < min(from+limit, all); i++ {
			p.Rows = append(p.Rows, report.File{File: strconv.Itoa(i)})
		}
		if from+limit < all {
			p.Next = strconv.Itoa(from + limit)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(p); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct{ limit, want, asked int }{{0, all, 3}, {1, 1, 1}, {1000, 1000, 1}, {1001, 1001, 2}, {9999, all, 3}} {
		asked = 0
		var got []string
		if err := made(t, server.URL).Files(t.Context(), report.Filter{Limit: c.limit, Waiting: true}, func(f report.File) error {
			got = append(got, f.File)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range c.want {
			want = append(want, strconv.Itoa(i))
		}
		if d := cmp.Diff(want, got); d != "" || asked != c.asked {
			t.Errorf("limit %d: asked %d times, want %d\n%s", c.limit, asked, c.asked, d)
		}
	}
}

// Nobody gets the token but the server that was named: not one to which it sends on,
// and not one whose certificate nobody vouches for.
func TestTheTokenGoesNowhereElse(t *testing.T) {
	got := 0
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got++ }))
	other.Config.ErrorLog = nil
	t.Cleanup(other.Close)
	beside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got++ }))
	t.Cleanup(beside.Close)
	sends := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, beside.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(sends.Close)
	for server, says := range map[string]string{sends.URL: "sends to another address", other.URL: "name it with --ca-file"} {
		if _, err := made(t, server).Status(t.Context(), 1); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want something with %q", server, err, says)
		}
	}
	if got > 0 {
		t.Errorf("%d requests went where they must not", got)
	}
}

// What a server answers is bounded, and none of it is taken for what it isn't.
func TestAnswersOfOthers(t *testing.T) {
	for body, says := range map[string]string{
		"text/html <html>":                                     "there is no Tributary",
		"application/json [":                                   "there is no Tributary",
		`application/json {"pending":"many"}`:                  "there is no Tributary",
		"application/problem+json {":                           "there is no Tributary",
		`application/problem+json {"detail":"x"}`:              "x",
		"application/json " + strings.Repeat(" ", maxAnswer+1): "more than 64 MiB",
	} {
		kind, text, _ := strings.Cut(body, " ")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			if kind == "application/problem+json" {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = w.Write([]byte(text))
		}))
		if _, err := made(t, server.URL).Status(t.Context(), 1); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v, want something with %q", body, err, says)
		}
		server.Close()
	}
}
