package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/sql/control"
)

// site is pages with a guard, as they are served.
type site struct {
	t       *testing.T
	handler http.Handler
	people  people
	clock   *clock
	log     *bytes.Buffer
	cfg     Config
}

var order = Order{By: "ann@host", Reason: "a test"}

// newSite makes pages for each role: whoever is let in is told who they are.
func newSite(t *testing.T, cfg Config, store Store, people people, clock *clock) *site {
	s := &site{t: t, people: people, clock: clock, log: &bytes.Buffer{}, cfg: cfg}
	g := New(cfg, Deps{Store: store, Now: clock.Now, Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	mux := http.NewServeMux()
	tell := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := From(r.Context())
		_, _ = io.WriteString(w, p.Name+" "+p.Role.String()+" "+p.Centre)
	})
	for _, r := range g.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	for path, least := range map[string]Role{"/own": Producer, "/files/": Reader, "/api/v1/files": Reader, "/{$}": Reader, "/replays": Wrangler, "/api/v1/users": Operator} {
		mux.Handle(path, g.Require(least, tell))
	}
	mux.Handle("GET "+CentrePath+"/{token}", g.ByLink(tell))
	s.handler = http.StripPrefix(cfg.Prefix, mux)
	return s
}

// ask is a request; what it asks for are headers in pairs, name and value.
func (s *site) ask(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "From" {
			r.RemoteAddr = headers[i+1]
		} else {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}

func (s *site) login(name, password string, headers ...string) *http.Response {
	s.t.Helper()
	return s.ask("POST", s.cfg.Prefix+"/login", form(name, password, ""), headers...)
}

func form(name, password, next string) string {
	return url.Values{"name": {name}, "password": {password}, "next": {next}}.Encode()
}

// cookie is the session that an answer begins.
func (s *site) cookie(r *http.Response) *http.Cookie {
	s.t.Helper()
	if r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 {
		s.t.Fatalf("no session begins: %s, %d cookies\n%s", r.Status, len(r.Cookies()), body(r))
	}
	return r.Cookies()[0]
}

// session is a session of an account, as a header.
func (s *site) session(name string) []string {
	s.t.Helper()
	c := s.cookie(s.login(name, password))
	return []string{"Cookie", c.Name + "=" + c.Value}
}

func (s *site) add(name string, role Role) {
	s.t.Helper()
	centre := ""
	if role == Producer {
		centre = "Ics"
	}
	must(s.t, s.people.Add(s.t.Context(), Person{Name: name, Role: role, Centre: centre}, password, order))
}

func (s *site) wants(what string, r *http.Response, status int, says string) {
	s.t.Helper()
	if got := body(r); r.StatusCode != status || !strings.Contains(got, says) {
		s.t.Errorf("%s: %s, want %d and %q:\n%s", what, r.Status, status, says, got)
	}
}

func body(r *http.Response) string {
	all, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(all))
	return string(all)
}

func TestWhoMayAsk(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		paths := []string{"/own", "/files/", "/replays", "/api/v1/files", "/api/v1/users"}
		want := map[Role][]int{
			Nobody:   {303, 303, 303, 401, 401},
			Producer: {200, 403, 403, 403, 403},
			Reader:   {200, 200, 403, 200, 403},
			Wrangler: {200, 200, 200, 200, 403},
			Operator: {200, 200, 200, 200, 200},
		}
		for role, statuses := range want {
			var headers, token []string
			if role > Nobody {
				s.add(role.String(), role)
				headers = s.session(role.String())
				secret, err := people.AddToken(t.Context(), Person{Name: role.String(), Role: role, Centre: map[Role]string{Producer: "Ics"}[role]}, time.Hour, order)
				must(t, err)
				token = []string{"Authorization", "Bearer " + secret}
			}
			for i, path := range paths {
				r := s.ask("GET", path, "", headers...)
				if r.StatusCode != statuses[i] {
					t.Errorf("%s asks for %s: %s, want %d", role, path, r.Status, statuses[i])
				}
				if role == Nobody {
					continue
				}
				if r := s.ask("GET", path, "", token...); r.StatusCode != statuses[i] {
					t.Errorf("a token of a %s asks for %s: %s, want %d", role, path, r.Status, statuses[i])
				}
				if r.StatusCode == 200 && !strings.HasPrefix(body(r), role.String()+" "+role.String()) {
					t.Errorf("%s is told to be %s", role, body(r))
				}
			}
		}
		s.wants("a producer's centre", s.ask("GET", "/own", "", s.session("producer")...), 200, "producer producer Ics")
	})
}

func TestProblems(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		s.add("ben", Reader)
		ben := s.session("ben")
		for _, tt := range []struct {
			path     string
			headers  []string
			status   int
			problem  string
			contains string
		}{
			{"/api/v1/files", nil, 401, "unauthenticated", ""},
			{"/files/", []string{"Accept", "text/event-stream"}, 401, "unauthenticated", ""},
			{"/files/", []string{"Authorization", "Bearer x"}, 401, "unauthenticated", ""},
			{"/api/v1/users", ben, 403, "forbidden", "ben, a reader"},
			{"/api/v1/files", append([]string{"Sec-Fetch-Site", "cross-site"}, ben...), 403, "cross_origin", ""},
		} {
			r := s.ask("GET", tt.path, "", tt.headers...)
			var got struct {
				Type, Title, Detail string
				Status              int
			}
			if err := json.Unmarshal([]byte(body(r)), &got); err != nil {
				t.Errorf("%s %v: %v", tt.path, tt.headers, err)
			}
			if r.StatusCode != tt.status || got.Status != tt.status || got.Type != "/problems/"+tt.problem || got.Title == "" || !strings.Contains(got.Detail, tt.contains) || r.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %v: %s %+v", tt.path, tt.headers, r.Status, got)
			}
		}
		s.wants("a page", s.ask("GET", "/replays", "", ben...), 403, "this is for the role wrangler")
		if r := s.ask("GET", "/api/v1/files", ""); r.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Error("programs are not told how to say who they are")
		}
	})
}

func TestNobodyIsLetInWhileTheStoreIsAway(t *testing.T) {
	s := newSite(t, Config{}, away{}, nil, newClock())
	s.wants("a token", s.ask("GET", "/api/v1/files", "", "Authorization", "Bearer "+tokenPrefix+newSecret()), 503, `"/problems/store_unavailable"`)
	s.wants("a session", s.ask("GET", "/files/", "", "Cookie", "tributary="+newSecret()), 503, "Not now")
	s.wants("a link", s.ask("POST", "/login/"+newSecret(), ""), 503, "Not now")
	for range 30 { // which counts as no failure of theirs
		s.wants("a login", s.login("ben", password), 503, "Not now")
	}
	if r := s.ask("POST", "/logout", "", "Cookie", "tributary="+newSecret()); r.StatusCode != 503 || len(r.Cookies()) > 0 {
		t.Errorf("somebody is told to be logged out who is not: %s", r.Status)
	}
}

var errAway = errors.New("the store is away")

// away is a store that can't be asked.
type away struct{ Store }

func (away) Account(context.Context, string) (*control.Account, error)        { return nil, errAway }
func (away) Session(context.Context, []byte) (*control.AccountSession, error) { return nil, errAway }
func (away) Token(context.Context, []byte) (*control.AccountToken, error)     { return nil, errAway }
func (away) EndSession(context.Context, []byte) error                         { return errAway }
func (away) UseLink(context.Context, []byte, []byte, time.Time) (bool, error) { return false, errAway }

// late is a store in which an account was disabled while a session of it began.
type late struct{ Store }

func (l late) Session(ctx context.Context, session []byte) (*control.AccountSession, error) {
	s, err := l.Store.Session(ctx, session)
	if s != nil {
		s.DisabledAt = &s.BegunAt
	}
	return s, err
}

func TestCookies(t *testing.T) {
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "tributary=SECRET; Path=/; HttpOnly; SameSite=Lax"},
		{Config{Secure: true}, "__Host-tributary=SECRET; Path=/; HttpOnly; Secure; SameSite=Lax"},
		{Config{Secure: true, Prefix: "/a/t"}, "__Secure-tributary.a.t=SECRET; Path=/a/t; HttpOnly; Secure; SameSite=Lax"},
	} {
		inMemory(t, func(t *testing.T, store Store, people people, clock *clock) {
			s := newSite(t, tt.cfg, store, people, clock)
			s.add("ben", Reader)
			r := s.login(" Ben ", password)
			if diff := cmp.Diff(tt.want, strings.Replace(r.Header.Get("Set-Cookie"), s.cookie(r).Value, "SECRET", 1)); diff != "" {
				t.Errorf("the cookie (-want +got):\n%s", diff)
			}
			session := []string{"Cookie", s.cookie(r).Name + "=" + s.cookie(r).Value}
			s.wants("the session", s.ask("GET", tt.cfg.Prefix+"/files/", "", session...), 200, "ben")
			out := s.ask("POST", tt.cfg.Prefix+"/logout", "", session...)
			if c := s.cookie(out); c.Value != "" || c.MaxAge != -1 || c.Path != strings.TrimSuffix(tt.cfg.Prefix, "/")+strings.Repeat("/", 1-min(1, len(tt.cfg.Prefix))) {
				t.Errorf("logging out leaves the cookie: %s", out.Header.Get("Set-Cookie"))
			}
			if to := out.Header.Get("Location"); to != tt.cfg.Prefix+"/login" {
				t.Errorf("logging out leads to %s", to)
			}
			if r := s.ask("GET", tt.cfg.Prefix+"/files/", "", session...); r.StatusCode != 303 {
				t.Errorf("a session that was ended goes on: %s", r.Status)
			}
		})
	}
}

func TestWhereALoginLeads(t *testing.T) {
	for _, prefix := range []string{"", "/t"} {
		inMemory(t, func(t *testing.T, store Store, people people, clock *clock) {
			s := newSite(t, Config{Prefix: prefix}, store, people, clock)
			s.add("ben", Reader)
			for _, tt := range []struct{ method, path, want string }{
				{"GET", "/files/add/x.zip?q=%C3%A9&as_of=2h", "/login?next=" + url.QueryEscape(prefix+"/files/add/x.zip?q=%C3%A9&as_of=2h")},
				{"GET", "/", "/login"},
				{"POST", "/files/", "/login"},
			} {
				if got := s.ask(tt.method, prefix+tt.path, "").Header.Get("Location"); got != prefix+tt.want {
					t.Errorf("%s %s leads to %s, want %s", tt.method, tt.path, got, prefix+tt.want)
				}
			}
			r := s.ask("GET", prefix+"/files/", "", "HX-Request", "true", "HX-Current-URL", "https://dcc.example.org"+prefix+"/files/?q=x")
			if got, want := r.Header.Get("HX-Redirect"), prefix+"/login?next="+url.QueryEscape(prefix+"/files/?q=x"); r.StatusCode != 401 || got != want {
				t.Errorf("a part of a page leads to %s (%s), want %s", got, r.Status, want)
			}
			s.wants("the form", s.ask("GET", prefix+"/login?next="+url.QueryEscape(prefix+"/files/?q=1&r=2"), ""), 200, `name="next" value="`+prefix+`/files/?q=1&amp;r=2"`)
			r = s.ask("POST", prefix+"/login", form("ben", password, prefix+"/files/?q=1"))
			if got := r.Header.Get("Location"); got != prefix+"/files/?q=1" {
				t.Errorf("the login leads to %s", got)
			}
		})
	}
}

func TestWhoAsks(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tt := range []struct {
		from, said, want string
	}{
		{"192.0.2.7:80", "", "192.0.2.7"},
		{"192.0.2.7:80", "198.51.100.1", "192.0.2.7"}, // anybody may say so
		{"10.0.0.1:80", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:80", "203.0.113.9, 198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:80", "198.51.100.1, 10.0.0.2", "198.51.100.1"},
		{"10.0.0.1:80", "nonsense", "10.0.0.1"},
		{"10.0.0.1:80", "", "10.0.0.1"},
		{"[::ffff:192.0.2.7]:80", "", "192.0.2.7"},
		{"[2001:db8:1:2:3:4:5:6]:80", "", "2001:db8:1:2::/64"},
		{"@", "", "unknown"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.from
		if tt.said != "" {
			r.Header.Set("X-Forwarded-For", tt.said)
		}
		if got := New(Config{Proxies: proxies}, Deps{}).address(r); got != tt.want {
			t.Errorf("%s, who says %q, is taken for %s, want %s", tt.from, tt.said, got, tt.want)
		}
	}
}
