package access

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Who has planted a session in a browser doesn't get what its user logs in to, and
// what a browser had before is over.
func TestFixation(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		s.add("ben", Reader)
		s.add("mallory", Reader)
		planted := s.session("mallory")
		c := s.cookie(s.login("ben", password, planted...))
		if c.Name+"="+c.Value == planted[1] {
			t.Error("the session of before goes on with another name")
		}
		if r := s.ask("GET", "/files/", "", planted...); r.StatusCode != 303 {
			t.Errorf("the session of before goes on: %s", r.Status)
		}
		invented := newSecret()
		c = s.cookie(s.login("ben", password, "Cookie", "tributary="+invented))
		if c.Value == invented {
			t.Error("a session has the secret that somebody has chosen")
		}
		path, err := people.AddLink(t.Context(), Reader, order)
		must(t, err)
		before := s.session("ben")
		s.cookie(s.ask("POST", path, "", before...))
		if r := s.ask("GET", "/files/", "", before...); r.StatusCode != 303 {
			t.Errorf("the session before a link goes on: %s", r.Status)
		}
		mine := s.session("ben")
		if r := s.ask("GET", "/files/", "", append(slices.Clone(mine), "Cookie", planted[1])...); r.StatusCode != 303 {
			t.Errorf("of two cookies one was taken: %s", r.Status)
		}
	})
}

// Another site can't have a browser do anything, nor read anything but by going there.
func TestCrossOrigin(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		s.add("ben", Wrangler)
		secret, err := people.AddToken(t.Context(), Person{Name: "nightly", Role: Wrangler}, time.Hour, order)
		must(t, err)
		cookie, token := s.session("ben"), []string{"Authorization", "Bearer " + secret}
		for _, tt := range []struct {
			method  string
			headers []string
			cookie  int // what is answered to who has one
			token   int
		}{
			{"POST", []string{"Sec-Fetch-Site", "same-origin"}, 200, 200},
			{"POST", []string{"Sec-Fetch-Site", "cross-site"}, 403, 200},
			{"POST", []string{"Sec-Fetch-Site", "same-site"}, 403, 200},
			{"POST", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403, 200},
			{"POST", []string{"Origin", "https://evil.example"}, 403, 200},
			{"POST", []string{"Origin", "null"}, 403, 200},
			{"POST", []string{"Origin", "http://example.com"}, 200, 200},
			{"POST", nil, 200, 200}, // no browser
			{"DELETE", []string{"Origin", "https://evil.example"}, 403, 200},
			{"GET", []string{"Sec-Fetch-Site", "none"}, 200, 200},
			{"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200, 200},
			{"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403, 200},
			{"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403, 200},
			{"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403, 200},
		} {
			if r := s.ask(tt.method, "/replays", "", append(slices.Clone(tt.headers), cookie...)...); r.StatusCode != tt.cookie {
				t.Errorf("%s %v with a cookie: %s, want %d", tt.method, tt.headers, r.Status, tt.cookie)
			}
			if r := s.ask(tt.method, "/replays", "", append(slices.Clone(tt.headers), token...)...); r.StatusCode != tt.token {
				t.Errorf("%s %v with a token: %s, want %d", tt.method, tt.headers, r.Status, tt.token)
			}
		}
		// Nobody is logged in or out by another site either.
		path, err := people.AddLink(t.Context(), Operator, order)
		must(t, err)
		for _, to := range []string{"/login", path, "/logout"} {
			if r := s.ask("POST", to, form("ben", password, ""), append([]string{"Sec-Fetch-Site", "cross-site"}, cookie...)...); r.StatusCode != 403 || len(r.Cookies()) > 0 {
				t.Errorf("another site has a browser ask for %s: %s", to, r.Status)
			}
		}
		s.wants("the session", s.ask("GET", "/files/", "", cookie...), 200, "ben")
		s.cookie(s.ask("POST", path, ""))
		s.wants("a bad token beside a good session", s.ask("GET", "/files/", "", append([]string{"Authorization", "Bearer " + tokenPrefix + newSecret()}, cookie...)...), 401, "unauthenticated")
		s.wants("a proxy's password beside a good session", s.ask("GET", "/files/", "", append([]string{"Authorization", "Basic YTpi"}, cookie...)...), 200, "ben")
	})
}

func TestOpenRedirects(t *testing.T) {
	for _, prefix := range []string{"", "/t"} {
		inMemory(t, func(t *testing.T, store Store, people people, clock *clock) {
			s := newSite(t, Config{Prefix: prefix}, store, people, clock)
			s.add("ben", Reader)
			for _, next := range []string{
				"https://evil.example/", "//evil.example/", "///evil.example", `/\evil.example`, `\/evil.example`, "/%5Cevil.example", "/%2F/evil.example", "/%2Fevil.example",
				"http:evil.example", "javascript:alert(1)", "evil.example", "/\tevil", "\t//evil.example", "/x\r\nSet-Cookie: a=b", "/x%00", "", ".", "@evil.example",
				"/../evil", "/t/../evil", "/t/%2e%2e/evil", "/t/..%2fevil", "/tt/evil", "/login", "/t/login/x", "/t" + strings.Repeat("/x", maxNext), "/\u202e", " /", "http://[::1",
			} {
				if prefix == "" && strings.HasPrefix(next, "/t") && !strings.Contains(next, "..") && len(next) < maxNext {
					continue // a page like any other
				}
				if to := New(s.cfg, Deps{}).local(next); to != prefix+"/" {
					t.Errorf("next=%q leads to %q", next, to)
				}
				if page := body(s.ask("GET", prefix+"/login?"+url.Values{"next": {next}}.Encode(), "")); !strings.Contains(page, `name="next" value="`+prefix+`/"`) {
					t.Errorf("next=%q stands in the form:\n%s", next, page)
				}
			}
			if to := s.ask("POST", prefix+"/login", form("ben", password, "//evil.example/")).Header.Get("Location"); to != prefix+"/" {
				t.Errorf("the login leads to %q", to)
			}
		})
	}
}

// A link that fifty open at once logs in one of them.
func TestALinkLogsInOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		path, err := people.AddLink(t.Context(), Wrangler, order)
		must(t, err)
		for range 3 { // what looks at links doesn't use them up
			s.wants("the link's page", s.ask("GET", path, ""), 200, `<form class="flow" method="post">`)
		}
		answers := make(chan *http.Response, 50)
		var all sync.WaitGroup
		for range cap(answers) {
			all.Go(func() { answers <- s.ask("POST", path, "") })
		}
		all.Wait()
		close(answers)
		statuses := map[int]int{}
		for r := range answers {
			statuses[r.StatusCode]++
			if r.StatusCode == 303 {
				c := s.cookie(r)
				s.wants("who won", s.ask("GET", "/files/", "", "Cookie", c.Name+"="+c.Value), 200, "link:ann@host wrangler")
			}
		}
		if statuses[303] != 1 || statuses[410] != 49 {
			t.Errorf("the answers are %v", statuses)
		}
		if strings.Contains(s.log.String(), path[len("/login/"):]) {
			t.Error("the log has the link")
		}
	})
}

func TestWhatIsOver(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{Idle: time.Hour, Absolute: 3 * time.Hour}, store, people, clock)
		s.add("ben", Operator)
		secret, err := people.AddToken(t.Context(), Person{Name: "nightly", Role: Operator}, 90*time.Minute, order)
		must(t, err)
		token := []string{"Authorization", "Bearer " + secret}
		link, err := people.AddLink(t.Context(), Operator, order)
		must(t, err)
		ben, idle := s.session("ben"), s.session("ben")
		for _, step := range []struct {
			move             time.Duration
			ben, idle, token int
		}{
			{0, 200, 200, 200},
			{59 * time.Minute, 200, 200, 200},
			{30 * time.Minute, 200, 200, 200},
			{time.Minute, 200, 0, 401}, // after 90 minutes
			{59 * time.Minute, 200, 303, 401},
			{31*time.Minute - time.Second, 200, 303, 401},
			{time.Second, 303, 303, 401}, // after three hours
		} {
			clock.move(step.move)
			for what, want := range map[string]struct {
				headers []string
				status  int
			}{"a session in use": {ben, step.ben}, "an idle one": {idle, step.idle}, "the token": {token, step.token}} {
				if want.status == 0 {
					continue
				}
				if r := s.ask("GET", "/replays", "", want.headers...); r.StatusCode != want.status {
					t.Errorf("%s, %s later: %s, want %d", what, step.move, r.Status, want.status)
				}
			}
		}
		s.wants("the link", s.ask("POST", link, ""), 410, "older than ten minutes")
		s.wants("no link", s.ask("POST", "/login/x", ""), 410, "older than ten minutes")

		secret, err = people.AddToken(t.Context(), Person{Name: "weekly", Role: Operator}, time.Hour, order)
		must(t, err)
		token[1] = "Bearer " + secret
		s.wants("a token", s.ask("GET", "/replays", "", token...), 200, "token:weekly operator")
		must(t, people.RevokeToken(t.Context(), "weekly", order))
		s.wants("a revoked token", s.ask("GET", "/replays", "", token...), 401, "unauthenticated")
		for _, near := range []string{secret[len(tokenPrefix):], secret + "x", strings.ToUpper(secret), "", "x", tokenPrefix} {
			s.wants("something like a token", s.ask("GET", "/replays", "", "Authorization", "Bearer "+near), 401, "unauthenticated")
		}
	})
}

// What becomes of an account binds at its next request.
func TestChangesOfAnAccountThatIsLoggedIn(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		s.add("ben", Wrangler)
		ben := s.session("ben")
		s.wants("a wrangler", s.ask("POST", "/replays", "", ben...), 200, "ben wrangler")
		must(t, people.Edit(t.Context(), Person{Name: "ben", Role: Reader}, order))
		s.wants("a reader now", s.ask("POST", "/replays", "", ben...), 403, "ben, a reader")
		must(t, people.Edit(t.Context(), Person{Name: "ben", Role: Producer, Centre: "Ics"}, order))
		s.wants("a producer now", s.ask("GET", "/own", "", ben...), 200, "ben producer Ics")

		out := func(what string) {
			t.Helper()
			if r := s.ask("GET", "/own", "", ben...); r.StatusCode != 303 {
				t.Errorf("%s: the session goes on: %s", what, r.Status)
			}
		}
		must(t, people.Disable(t.Context(), "ben", order))
		out("disabled")
		s.wants("a disabled account", s.login("ben", password), 401, "the account is disabled")
		must(t, people.Enable(t.Context(), "ben", order))
		out("enabled again")
		ben = s.session("ben")
		must(t, people.SetPassword(t.Context(), "ben", "another password", order))
		out("a new password")
		s.wants("the password of before", s.login("ben", password), 401, "password is wrong")
		c := s.cookie(s.login("ben", "another password"))
		ben = []string{"Cookie", c.Name + "=" + c.Value}
		must(t, people.Remove(t.Context(), "ben", order))
		out("removed")
		s.wants("a removed account", s.login("ben", "another password"), 401, "password is wrong")
	})
}

// A session that the store still has of a disabled account is none, wherever it came
// from.
func TestASessionOfADisabledAccountIsNone(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, late{store}, people, clock)
		s.add("ben", Reader)
		r := s.ask("GET", "/files/", "", s.session("ben")...)
		if r.StatusCode != 303 {
			t.Errorf("%s", r.Status)
		}
	})
}

// Names and passwords are tried by many at once and for long: few are computed, each
// pause is longer, and nobody is locked out for long by others.
func TestBruteForce(t *testing.T) {
	inMemory(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		s.add("ben", Operator)
		s.add("eve", Reader)
		tries := func(n int, name func(i int) string, from func(i int) string) map[int]int {
			statuses := make(chan int, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					statuses <- s.login(name(i), fmt.Sprintf("wrong password %d", i), "From", from(i)).StatusCode
				})
			}
			all.Wait()
			close(statuses)
			out := map[int]int{}
			for status := range statuses {
				out[status]++
			}
			return out
		}
		always := func(v string) func(int) string { return func(int) string { return v } }
		each := func(format string) func(int) string { return func(i int) string { return fmt.Sprintf(format, i) } }

		if got := tries(30, always("ben"), each("192.0.2.%d:80")); got[401] != 5 || got[429] != 25 {
			t.Errorf("one name from many addresses: %v, want 5 computed", got)
		}
		r := s.login("ben", password, "From", "192.0.2.99:80")
		s.wants("the right password meanwhile", r, 429, "Too many logins have failed")
		if r.Header.Get("Retry-After") != "2" {
			t.Errorf("it is to be tried again after %s s", r.Header.Get("Retry-After"))
		}
		s.wants("another name", s.login("eve", password, "From", "192.0.2.99:80"), 303, "")
		for pause := time.Second; pause < 2*time.Minute; pause *= 2 {
			wait := min(pause, time.Minute)
			clock.move(wait - time.Millisecond)
			s.wants("before the pause is over", s.login("ben", "wrong password", "From", "192.0.2.98:80"), 429, "")
			clock.move(time.Millisecond)
			s.wants("after it", s.login("ben", "wrong password", "From", "192.0.2.98:80"), 401, "")
		}
		clock.move(time.Minute)
		s.wants("the right password", s.login("ben", password, "From", "192.0.2.97:80"), 303, "")
		s.wants("a slip after that", s.login("ben", "wrong password", "From", "192.0.2.97:80"), 401, "")
		s.wants("is nothing", s.login("ben", password, "From", "192.0.2.97:80"), 303, "")

		if got := tries(30, each("name%d"), always("198.51.100.1:80")); got[401] != 20 || got[429] != 10 {
			t.Errorf("many names from one address: %v, want 20 computed", got)
		}
		clock.move(time.Second)
		s.wants("a name that is known", s.login("eve", password, "From", "198.51.100.1:80"), 303, "")
		s.wants("does not give more", s.login("a", "wrong password", "From", "198.51.100.1:80"), 401, "")
		s.wants("than before", s.login("b", "wrong password", "From", "198.51.100.1:80"), 429, "")
		clock.move(forgottenAfter)
		s.wants("an hour later", s.login("a", "wrong password", "From", "198.51.100.1:80"), 401, "")
		s.wants("all begins anew", s.login("b", "wrong password", "From", "198.51.100.1:80"), 401, "")
		if strings.Contains(s.log.String(), "name7") || strings.Contains(s.log.String(), "wrong password") || strings.Contains(s.log.String(), password) {
			t.Error("the log has what people typed")
		}
	})
}

func TestAttemptsAreBounded(t *testing.T) {
	a, now := newAttempts(), newClock().Now()
	for range 6 {
		a.begin(now, "ben", "x")
	}
	for i := range 3 * maxAttempts {
		a.begin(now, fmt.Sprint(i), fmt.Sprint(i))
	}
	if len(a.known) > maxAttempts || a.order.Len() != len(a.known) {
		t.Errorf("%d names and addresses are remembered, in a list of %d", len(a.known), a.order.Len())
	}
}

// No more passwords are computed at once than there is memory for, and those who wait
// are not many either.
func TestFewPasswordsAreComputedAtOnce(t *testing.T) {
	s := newSite(t, Config{}, &memory{}, nil, newClock())
	g := New(Config{}, Deps{Store: &memory{}, Now: s.clock.Now})
	for range computations {
		g.computing <- struct{}{}
	}
	for range waiters {
		g.waiting <- struct{}{}
	}
	if _, err := g.compute(t.Context(), nil, password); err != errBusy {
		t.Errorf("one more: %v", err)
	}
}

// Names, passwords, cookies and forms that are no such thing.
func TestNonsense(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		s.add("ben", Reader)
		large := strings.Repeat("x", 1<<20)
		for i, tt := range []struct {
			name, password string
			status         int
		}{
			{"ben", large, 413},
			{large, password, 413},
			{"ben", strings.Repeat("x", maxPassword+1), 401},
			{"ben", "", 401},
			{"", "", 401},
			{"ben\r\nSet-Cookie: a=b", password, 401},
			{"ben\x00", password, 401},
			{"\xff", password, 401},
			{"' OR 1=1 --", password, 401},
			{"<script>alert(1)</script>", password, 401},
			{"ben", password + "\x00", 401},
			{"ben", " " + password, 401},
		} {
			r := s.login(tt.name, tt.password, "From", fmt.Sprintf("192.0.2.%d:80", i))
			if r.StatusCode != tt.status || len(r.Cookies()) > 0 || r.Header.Get("Set-Cookie") != "" {
				t.Errorf("%.20q, %.20q: %s", tt.name, tt.password, r.Status)
			}
			if strings.Contains(body(r), "<script") {
				t.Errorf("%.20q stands in the page", tt.name)
			}
			clock.move(time.Hour)
		}
		for _, cookie := range []string{large, "", "x", strings.Repeat("x", secretLength), `"` + newSecret() + `"`, newSecret() + "; tributary=" + newSecret()} {
			if r := s.ask("GET", "/files/", "", "Cookie", "tributary="+cookie); r.StatusCode != 303 {
				t.Errorf("the cookie %.20q: %s", cookie, r.Status)
			}
			if r := s.ask("POST", "/logout", "", "Cookie", "tributary="+cookie); r.StatusCode != 303 {
				t.Errorf("logging out with %.20q: %s", cookie, r.Status)
			}
		}
		s.wants("a large token", s.ask("GET", "/files/", "", "Authorization", "Bearer "+tokenPrefix+large), 401, "")
		s.wants("no form", s.ask("POST", "/login", "%zz=%"), 413, "")
		s.wants("a GET with a password", s.ask("GET", "/login?"+form("ben", password, ""), ""), 200, "<form")
		s.wants("a password in the address", s.ask("POST", "/login?"+form("ben", password, ""), "x=y"), 401, "")
	})
}
