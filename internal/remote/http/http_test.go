package http_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

func page(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, body)
}

// Only what stands in the very directory is of it, however it is written.
func TestHTTPTakesLinksBelowTheBaseAlone(t *testing.T) {
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		page(w, fmt.Sprintf(`<title>Index of /pub/add/</title><a href="../">up</a> <a href="?C=M;O=A">sort</a> <a href="/pub/">up</a>
<a href="a.xml">a</a>
<a href="/pub/add/b.xml">b</a>
<a href="http://%s/pub/add/c.xml">c</a>
<a href="http://%s/p%%75b/add/d.xml">d</a>
<a href="./e.xml">e</a>
<a href="sub/">sub</a>
<a href="sub/deep.xml">deep</a>
<a href="../add/f.xml">f</a>
<a href="../edit/g.xml">elsewhere</a> <a href="/etc/passwd">elsewhere</a> <a href="//other.example/pub/add/h.xml">elsewhere</a> <a href="https://%s/pub/add/i.xml">elsewhere</a>
<a href="http://u:p@%s/pub/add/j.xml">with a password</a> <a href="mailto:x@y">mail</a> <a href="javascript:x()">script</a> <a href="ftp://%s/pub/add/k.xml">elsewhere</a> <a href="l.xml?version=1">query</a> <a href="m.xml#part">part</a>
<a href="%%2e%%2e">odd</a>
<a href="..%%2f..%%2fetc.xml">odd</a>
<a href="nul%%00.xml">odd</a>
<a href="%%zz.xml">odd</a>
<a href="amp&amp;.xml">amp</a>
<a href="caf%%E9.xml">latin</a>
<a>nowhere</a> <a href="">nothing</a> <a href="a.xml">again</a>
`, r.Host, strings.ToUpper(r.Host), r.Host, r.Host, r.Host))
	})
	got, err := remotetest.Listed(t, remotetest.Dial(t, remote.Config{URL: s.URL + "/pub", IgnoreRobots: true}), "add")
	want := []string{"file a.xml", "file b.xml", "file c.xml", "file d.xml", "file e.xml", "dir sub", "file f.xml", "other ..", "other ../../etc.xml", "other nul\x00.xml", "file amp&.xml", "file caf\xe9.xml", "file a.xml"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("listing, %v (-want +got):\n%s", err, diff)
	}
}

// Recorded pages of servers that tests don't start: what they show of size and time.
func TestHTTPReadsRecordedIndexes(t *testing.T) {
	day := func(h, m, s int) time.Time { return time.Date(2024, 2, 29, h, m, s, 0, time.UTC) }
	file := func(name string, size int64, at time.Time, precision time.Duration) remote.Entry {
		return remote.Entry{Name: name, Size: size, ModTime: at, Precision: precision}
	}
	dir := func(name string, at time.Time, precision time.Duration) remote.Entry {
		return remote.Entry{Name: name, Size: -1, ModTime: at, Precision: precision, Kind: remote.Dir}
	}
	for name, want := range map[string][]remote.Entry{
		"iis.html":      {dir("inner", day(23, 59, 0), time.Minute), file("one.xml", 10, day(23, 59, 0), time.Minute), file("two words.xml", 70000, day(9, 5, 0), time.Minute), file("web.config", 168, time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC), time.Minute)},
		"lighttpd.html": {dir("inner", day(23, 59, 58), time.Second), file("one.xml", -1, day(23, 59, 58), time.Second), file("two words.xml", -1, day(9, 5, 1), time.Second)},
		"python.html":   {dir("inner", time.Time{}, 0), file("one.xml", -1, time.Time{}, 0), file("2024-02-29 10:00 7.xml", -1, time.Time{}, 0)},
		"caddy.html":    {dir("inner", time.Time{}, 0), file("one.xml", -1, time.Time{}, 0)},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "index", name))
		if err != nil {
			t.Fatal(err)
		}
		site := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) { page(w, string(text)) })
		var got []remote.Entry
		err = remotetest.Dial(t, remote.Config{URL: site.URL, IgnoreRobots: true}).List(t.Context(), "add", func(e remote.Entry) error {
			got = append(got, e)
			return nil
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s, %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// An index in JSON has everything, so that no file is asked for.
func TestHTTPReadsJSON(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	remotetest.Put(t, dir, "add/one.zip", "1234567890")
	remotetest.Put(t, dir, "add/inner/x", "")
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, Extra: []string{"autoindex_format json;"}})
	servers.Need(t, err)
	t.Cleanup(nginx.Stop)
	s := remotetest.Dial(t, remote.Config{URL: nginx.URL("/")})
	all := map[string]remote.Entry{}
	if err := s.List(t.Context(), "add", func(e remote.Entry) error { all[e.Name] = e; return nil }); err != nil {
		t.Fatal(err)
	}
	// nginx has noted what came before when it answers the next question.
	if _, err := s.Stat(t.Context(), "add/inner"); err != nil {
		t.Fatal(err)
	}
	at, err := os.Stat(filepath.Join(dir, "add/inner"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(nginx.AccessLog)
	if err != nil || bytes.Contains(log, []byte("HEAD /add/one.zip")) || !bytes.Contains(log, []byte("GET /add/ ")) {
		t.Errorf("the file was asked for by the listing, %v:\n%s", err, log)
	}
	inner := remote.Entry{Name: "inner", Size: -1, ModTime: at.ModTime().UTC().Truncate(time.Second), Precision: time.Second, Kind: remote.Dir}
	stat, err := s.Stat(t.Context(), "add/one.zip")
	stat.Attributes = nil // the index doesn't show an ETag
	if diff := cmp.Diff(map[string]remote.Entry{"one.zip": stat, "inner": inner}, all); diff != "" || err != nil || stat.Size != 10 {
		t.Errorf("listing, %v (-stat +list):\n%s", err, diff)
	}
}

// An entry that looks the same as what is known isn't asked for again, though the
// index rounds sizes and doesn't say of which zone its times are.
func TestHTTPAsksForNothingThatIsKnown(t *testing.T) {
	var heads []string
	at := time.Date(2024, 7, 1, 10, 30, 17, 0, time.UTC)
	sizes := map[string]int64{"a.zip": 1_258_291, "b.zip": 1_300_000, "c.zip": 5, "d.zip": 5}
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			name := filepath.Base(r.URL.Path)
			heads = append(heads, name)
			w.Header().Set("Content-Length", fmt.Sprint(sizes[name]))
			w.Header().Set("Last-Modified", at.Format(http.TimeFormat))
			return
		}
		page(w, `<title>Index of /add</title><pre>
<a href="a.zip">a.zip</a> 2024-07-01 12:30  1.2M
<a href="b.zip">b.zip</a> 2024-07-01 12:30  1.2M
<a href="c.zip">c.zip</a> 2024-07-01 12:30    5
<a href="d.zip">d.zip</a> 2024-07-01 12:31    5
</pre>`)
	})
	known := map[string]remote.Entry{}
	c := remote.Config{URL: s.URL, IgnoreRobots: true, Known: func(_ string, entries []remote.Entry) ([]remote.Entry, error) {
		out := make([]remote.Entry, len(entries))
		for i, e := range entries {
			out[i] = known[e.Name]
		}
		return out, nil
	}}
	for _, tt := range []struct {
		about  string
		change func()
		want   []string
	}{
		{"nothing is known", func() {}, []string{"a.zip", "b.zip", "c.zip", "d.zip"}},
		// The first one shows of which zone the times are; d has another minute than
		// what is known of it.
		{"all is known", func() {}, []string{"a.zip", "d.zip"}},
		{"another size", func() { known["b.zip"] = remote.Entry{Name: "b.zip", Size: 2_000_000, ModTime: at} }, []string{"a.zip", "b.zip", "d.zip"}},
		{"another exact size", func() { known["c.zip"] = remote.Entry{Name: "c.zip", Size: 6, ModTime: at} }, []string{"a.zip", "c.zip", "d.zip"}},
	} {
		heads = nil
		tt.change()
		err := remotetest.Dial(t, c).List(t.Context(), "add", func(e remote.Entry) error {
			if e.Size != sizes[e.Name] || !e.ModTime.Equal(at) || e.Precision != time.Second {
				t.Errorf("%s: %+v", tt.about, e)
			}
			known[e.Name] = e
			return nil
		})
		if diff := cmp.Diff(tt.want, heads); diff != "" || err != nil {
			t.Errorf("%s, %v (-want +got):\n%s", tt.about, err, diff)
		}
	}
}

// What an answer means for whoever asks.
func TestHTTPRefusals(t *testing.T) {
	for status, want := range map[int]string{
		401: "login_failed", 403: "permission_denied", 404: "file_gone", 410: "file_gone", 429: "server_busy", 503: "server_busy",
		500: "connection_lost", 502: "connection_lost", 504: "connection_lost", 400: "transfer_failed", 204: "transfer_failed", 206: "transfer_failed", 304: "transfer_failed",
	} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(status)
		})
		session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
		_, err := session.Open(t.Context(), "add/x.zip", 5)
		if got := remote.Exception(err); got != want || !strings.Contains(err.Error(), "120") {
			t.Errorf("open at %d: %v (%s), want %s", status, err, got, want)
		}
		if _, err := remotetest.Listed(t, session, "add"); remote.Exception(err) != want {
			t.Errorf("list at %d: %v (%s), want %s", status, err, remote.Exception(err), want)
		}
	}
}

// A page that is no index says nothing of what is there.
func TestHTTPRefusesWhatIsNoIndex(t *testing.T) {
	for about, answer := range map[string]http.HandlerFunc{
		"login page": func(w http.ResponseWriter, _ *http.Request) {
			page(w, `<title>Log in</title><a href="/login">log in</a>`)
		},
		"nothing":          func(w http.ResponseWriter, _ *http.Request) { page(w, "") },
		"text":             func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a.zip\n") },
		"object":           func(w http.ResponseWriter, _ *http.Request) { json(w, `{"name": "a.zip"}`) },
		"nameless":         func(w http.ResponseWriter, _ *http.Request) { json(w, `[{"type": "file", "size": 1}]`) },
		"other values":     func(w http.ResponseWriter, _ *http.Request) { json(w, `[{"name": 7}]`) },
		"sent to a login":  sendTo("/login"),
		"sent to one host": sendTo("http://localhost:1/add/"),
	} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				page(w, `<title>Index of</title><a href="a.zip">a</a>`)
				return
			}
			answer(w, r)
		})
		got, err := remotetest.Listed(t, remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true}), "add")
		if want := "no_index_page"; remote.Exception(err) != want && about != "sent to one host" || err == nil || len(got) > 0 {
			t.Errorf("%s: %v, %v (%s), want %s", about, got, err, remote.Exception(err), want)
		}
	}
	empty := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
		page(w, `<html><head><title>Index of /add/</title></head><body><h1>Index of /add/</h1><pre><a href="../">../</a></pre></body></html>`)
	})
	if got, err := remotetest.Listed(t, remotetest.Dial(t, remote.Config{URL: empty.URL, IgnoreRobots: true}), "add"); err != nil || len(got) > 0 {
		t.Errorf("an empty directory: %v, %v", got, err)
	}
}

func json(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func sendTo(where string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, where, http.StatusFound) }
}

// What robots.txt forbids is not asked for, by the server's own notes.
func TestHTTPHeedsRobots(t *testing.T) {
	for _, tt := range []struct {
		about, robots string
		ignore        bool
		want          string // exception of opening /pub/add/x.zip; empty: it is delivered
	}{
		{"everybody may", "User-agent: *\nDisallow: /private\n", false, ""},
		{"nobody may", "User-agent: *\nDisallow: /\n", false, "robots_forbidden"},
		{"nobody may, and is asked all the same", "User-agent: *\nDisallow: /\n", true, ""},
		{"we may", "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-Agent: Tributary # us\nDisallow:\n", false, ""},
		{"we may not", "User-agent: *\nAllow: /\nUser-agent: tributary\nDisallow: /pub/*.zip$\n", false, "robots_forbidden"},
		{"the longer one decides", "User-agent: *\nDisallow: /pub\nAllow: /pub/add\n", false, ""},
		{"of equals the kind one", "User-agent: *\nAllow: /pub/add\nDisallow: /pub/add\n", false, ""},
		{"another way to write it", "user-agent:*\ndisallow: /p%75b/add/x\n", false, "robots_forbidden"},
		{"a page in its place", "<html>Not found</html>", false, ""},
	} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				_, _ = io.WriteString(w, tt.robots)
			}
		})
		r, err := remotetest.Dial(t, remote.Config{URL: s.URL + "/pub", IgnoreRobots: tt.ignore}).Open(t.Context(), "add/x.zip", 0)
		if remote.Exception(err) != tt.want {
			t.Errorf("%s: %v (%s), want %q", tt.about, err, remote.Exception(err), tt.want)
		}
		if err == nil {
			_ = r.Close()
		}
		if asked := slices.Contains(s.Asked(), "GET /pub/add/x.zip"); asked != (tt.want == "") || slices.Contains(s.Asked(), "GET /robots.txt") == tt.ignore {
			t.Errorf("%s: asked for %v", tt.about, s.Asked())
		}
	}
	for status, want := range map[int]string{400: "", 401: "", 403: "", 405: "", 451: "", 404: "", 410: "", 429: "server_busy", 500: "connection_lost", 503: "server_busy"} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		session, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.URL})
		if remote.Exception(err) != want {
			t.Errorf("robots.txt answered by %d: %v (%s), want %q", status, err, remote.Exception(err), want)
		}
		if err == nil {
			_ = session.Close()
		}
	}
}

// Who asks is told by password or token, to nobody but the base's server.
func TestHTTPLogsIn(t *testing.T) {
	other := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "bytes") })
	for _, tt := range []struct {
		about, user string
		c           remote.Config
		want        string
	}{
		{"basic", "reader@", remote.Config{Password: "s3cret"}, "Basic cmVhZGVyOnMzY3JldA=="},
		{"token", "", remote.Config{Token: "t0ken"}, "Bearer t0ken"},
	} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Authorization") != tt.want && r.URL.Path != "/robots.txt":
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/add/x.zip":
				http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/mirror/x.zip", http.StatusFound)
			}
		})
		tt.c.URL = strings.Replace(s.URL, "://", "://"+tt.user, 1) + "/"
		r, err := remotetest.Dial(t, tt.c).Open(t.Context(), "add/x.zip", 5)
		if err != nil {
			t.Errorf("%s: %v", tt.about, err)
			continue
		}
		if got, err := io.ReadAll(r); string(got) != "bytes" || err != nil {
			t.Errorf("%s: %q, %v", tt.about, got, err)
		}
		_ = r.Close()
		tt.c.Password, tt.c.Token = "wrong", strings.Repeat("w", len(tt.c.Token))
		if _, err := connectors.All().Dial(t.Context(), tt.c); remote.Exception(err) != "login_failed" {
			t.Errorf("%s, wrong: %v (%s)", tt.about, err, remote.Exception(err))
		}
	}
	if diff := cmp.Diff([]string{"GET /robots.txt", "GET /mirror/x.zip", "GET /robots.txt", "GET /mirror/x.zip"}, other.Asked()); diff != "" {
		t.Errorf("another server was asked (-want +got):\n%s", diff)
	}
	if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: other.URL, Token: "two\nlines"}); remote.Exception(err) != "bad_source_configuration" {
		t.Errorf("a token of two lines: %v", err)
	}
}

// A server is who its certificate says, for those whom we trust.
func TestHTTPSVerifiesTheServer(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.URL}); remote.Exception(err) != "certificate_not_trusted" || remote.ClassOf(err) != remote.HostKey {
		t.Errorf("unknown authority: %v (%s)", err, remote.Exception(err))
	}
	plain := remotetest.NewSite(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: strings.Replace(plain.URL, "http:", "https:", 1)}); remote.Exception(err) != "protocol_error" {
		t.Errorf("no TLS: %v (%s)", err, remote.Exception(err))
	}
	for _, file := range []string{"/nonexistent", remotetest.File(t, "no certificate")} {
		if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: s.URL, CAFile: file}); remote.Exception(err) != "bad_source_configuration" {
			t.Errorf("ca_file %s: %v (%s)", file, err, remote.Exception(err))
		}
	}
}

// More than one request at a time never reaches a server, nor more than one
// connection.
func TestHTTPKeepsToOneConnection(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100_000)) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			open++
			most = max(most, open)
		case http.StateClosed, http.StateHijacked:
			open--
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := session.Open(t.Context(), "add/x.zip", -1)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			if n, err := io.Copy(io.Discard, r); n != 100_000 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if most != 1 {
		t.Errorf("%d connections at once, want 1", most)
	}
}

// A session that is closed ends what is under way.
func TestHTTPCloseEndsTransfers(t *testing.T) {
	begun := make(chan struct{})
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	})
	session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
	r, err := session.Open(t.Context(), "add/x.zip", -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-begun
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a transfer ends well after its session was closed")
	}
}

func TestHTTPDirectoriesAreNotFiles(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	remotetest.Put(t, dir, "add/inner.zip/x", "")
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir})
	servers.Need(t, err)
	t.Cleanup(nginx.Stop)
	s := remotetest.Dial(t, remote.Config{URL: nginx.URL("/")})
	if _, err := s.Open(t.Context(), "add/inner.zip", 1); err == nil || errors.Is(err, fs.ErrNotExist) || remote.SessionLost(err) {
		t.Errorf("opening a directory: %v", err)
	}
}
