package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tributary/producers/plan/plantest"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/pages"
)

// as lets everybody in as one person.
type as access.Person

func (p as) Require(least access.Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.Role < least {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Person(p))))
	})
}

// ordering serves the orders about what a control knows, for somebody of a role.
func ordering(t *testing.T, p *plantest.Plane, role access.Role) *httptest.Server {
	t.Helper()
	site, err := pages.New(pages.Site{Prefix: "/t", Name: "test", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock },
		Orders: order.New(order.Deps{Control: p.Pool, Outbox: p.Outbox})})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: "ann", Role: role}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)
	return server
}

// send sends a form and does not follow where that leads.
func send(t *testing.T, server *httptest.Server, path string, form url.Values) (answer *http.Response, body string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.PostForm(server.URL+"/t"+path, form) //nolint:noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	return answer, read(t, answer)
}

// An order is a form, which says what it would do, and done once it is sent: it is in
// control with who and why, the next page says so once, and nothing is done by GET.
func TestOrders(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	server := ordering(t, p, access.Operator)
	hold := "/files/add/a.zip/hold"
	answers(t, server, hold, http.StatusOK, "nothing of it begins until it is released", `<form method="post" action="/t/files/add/a.zip/hold"`, "tributary files hold add/a.zip", `href="/t/files/add/a.zip">Not now`)
	if held := heldFiles(t, p); len(held) != 0 {
		t.Fatalf("looking at the form has held %v", held)
	}
	answer, body := send(t, server, hold, url.Values{"reason": {" wrong <mice> "}})
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/t/files/add/a.zip" {
		t.Fatalf("%d to %q\n%s", answer.StatusCode, answer.Header.Get("Location"), body)
	}
	if held := heldFiles(t, p); len(held) != 1 || held[0].HeldBy != "ann" || held[0].HeldWhy != "wrong <mice>" || !held[0].HeldAt.Equal(p.Clock) {
		t.Fatalf("held: %+v", held)
	}

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/t"+hold, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		if c.Name == "said" && (!c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/t/") {
			t.Errorf("the cookie is %+v", c)
		}
		r.AddCookie(c)
	}
	next, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if body := read(t, next); !strings.Contains(body, "add/a.zip: nothing of it begins until it is released") || !strings.Contains(body, "It is refused:</b> <bdi>it is held already: held by ann: wrong &lt;mice&gt;") ||
		!strings.Contains(strings.Join(next.Header.Values("Set-Cookie"), "\n"), "said=; Path=/t/; Max-Age=0") {
		t.Errorf("the next page: %v\n%s", next.Header, body)
	}

	for _, c := range []struct {
		path   string
		form   url.Values
		status int
		want   string
	}{
		{hold, url.Values{}, http.StatusConflict, "it is held already"},
		{"/files/add/a.zip/priority", url.Values{"value": {"10"}}, http.StatusBadRequest, `the priority &#34;10&#34;: it is a number from 0 to 9`},
		{"/files/add/a.zip/priority", url.Values{}, http.StatusBadRequest, "Priority must be given"},
		{"/files/add/a.zip/priority", url.Values{"value": {"9"}}, http.StatusConflict, "it is held"},
		{"/files/add/a.zip/release", url.Values{"value": {"9"}}, http.StatusBadRequest, "there is nothing to say here but why"},
		{"/files/add/a.zip/release", url.Values{"reason": {strings.Repeat("ä", control.MaxReason+1)}}, http.StatusBadRequest, "more than 500 are not kept"},
		{"/files/add/b.zip/hold", nil, http.StatusConflict, "no such file is known"},
		{"/files/move/a.zip/hold", nil, http.StatusConflict, "there is no action move"},
		{"/files/add/%3Cscript%3Ealert(1)%3C%2Fscript%3E/hold", nil, http.StatusConflict, "no such file is known"},
		{"/files/add/a.zip/release", nil, http.StatusSeeOther, ""},
		{"/files/add/a.zip/cancel", nil, http.StatusSeeOther, ""},
		{"/sources/nowhere/poll", nil, http.StatusConflict, "it was never polled"},
		{"/sources/own/maintain", url.Values{"value": {"yesterday"}}, http.StatusBadRequest, "is no moment"},
		{"/sources/own/maintain", url.Values{"value": {"6h"}, "reason": {"disks"}}, http.StatusSeeOther, ""},
		{"/sources/own/maintain", url.Values{"value": {"6h"}}, http.StatusConflict, "already"},
		{"/sources/own/poll", nil, http.StatusConflict, "it is in maintenance"},
		{"/sources/own/resume", nil, http.StatusSeeOther, ""},
		{"/sources/own/act", nil, http.StatusBadRequest, "say why"},
		{"/sources/own/stop-acting", url.Values{"reason": {"agreed"}}, http.StatusConflict, "it defines no done_with"},
		{"/replays/7/stop", nil, http.StatusConflict, "there is no such replay"},
		{"/replays/x/resume", nil, http.StatusConflict, "there is no such replay"},
		{"/dead-letters/validate:0:1/retry", nil, http.StatusServiceUnavailable, "this can&#39;t be ordered here"},
		{"/dead-letters/validate:0:1/drop", nil, http.StatusBadRequest, "say why"},
	} {
		answer, body := send(t, server, c.path, c.form)
		if answer.StatusCode != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "<script>alert") {
			t.Errorf("%s %v: %d, want %d and %q\n%s", c.path, c.form, answer.StatusCode, c.status, c.want, body)
		}
	}
}

// A file's page offers what can be done as it stands, and says why not the rest; whoever
// may order nothing is shown neither.
func TestOffersAsTheStateAllows(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	tracker := reporttest.Told(t, []schemas.StatusChanged{{Entity: schemas.EntityFile, FileRef: schemas.FileRef{File: schemas.FileID("add", "a.zip"), FileName: "a.zip", Action: "add"},
		Phase: string(schemas.ZipName), Status: string(schemas.Done)}})
	serve := func(role access.Role) *httptest.Server {
		return servedTo(t, pages.Site{Prefix: "/t", Tracker: tracker, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock },
			Orders: order.New(order.Deps{Control: p.Pool, Outbox: p.Outbox})}, role)
	}
	server, reader := serve(access.Wrangler), serve(access.Reader)
	const hold, release, cancel, why = `href="/t/files/add/a.zip/hold">Hold …</a>`, `href="/t/files/add/a.zip/release">Release …</a>`, `href="/t/files/add/a.zip/cancel">Cancel …</a>`, "What can't be done as it stands, and why"
	says(t, server, "/files/add/a.zip", 200, hold, cancel, "!"+release, why, "<li>Release: <bdi>it is not held", `priority">Give a priority to …</a>`)
	says(t, server, "/files/add/a.zip/release", 200, "It is refused:</b> <bdi>it is not held")
	says(t, reader, "/files/add/a.zip", 200, "!"+hold, "!"+release, "!"+why)
	if answer, body := send(t, server, "/files/add/a.zip/hold", url.Values{"reason": {"<b>mice"}}); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d\n%s", answer.StatusCode, body)
	}
	says(t, server, "/files/add/a.zip", 200, "!"+hold, "!"+cancel, release, "<li>Hold: <bdi>it is held already: held by will: &lt;b&gt;mice", "<li>Cancel: <bdi>nothing of it is under way", "<li>Give a priority to: <bdi>it is held")
	says(t, server, "/files/add/a.zip/priority", 200, "It is refused:</b> <bdi>it is held: held by will")
}

func heldFiles(t *testing.T, p *plantest.Plane) []control.HeldFile {
	t.Helper()
	held, err := control.HeldFiles(t.Context(), p.Pool, 10)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// A page offers what who looks at it may do, where it may be of use.
func TestOffers(t *testing.T) {
	table := order.New(order.Deps{})
	for _, c := range []struct {
		on, standing string
		role         access.Role
		want         string
	}{
		{order.Files, "", access.Reader, ""},
		{order.Files, "", access.Wrangler, "hold release cancel retry priority"},
		{order.Documents, "awaiting", access.Reader, ""},
		{order.Documents, "awaiting", access.Wrangler, "accept question hold"},
		{order.Documents, "held", access.Wrangler, "accept question"},
		{order.Documents, "", access.Operator, ""},
		{order.Sources, "available", access.Wrangler, ""},
		{order.Sources, "available", access.Operator, "poll maintain remove"},
		{order.Sources, "suspended", access.Operator, "poll maintain resume remove"},
		{order.Sources, "maintenance", access.Operator, "maintain resume remove"},
		{order.Sources, "removed", access.Operator, ""},
		{order.Centres, "", access.Wrangler, ""},
		{order.Centres, "", access.Operator, "remove"},
		{order.DeadLetters, "open", access.Wrangler, "retry drop"},
		{order.DeadLetters, "dropped", access.Wrangler, ""},
		{order.Replays, "running", access.Operator, "stop"},
		{order.Replays, "done", access.Operator, ""},
	} {
		var names []string
		for _, o := range table.For(c.on, access.Person{Role: c.role}) {
			if o.Offered == nil || o.Offered(c.standing) {
				names = append(names, o.Name)
			} else if o.Otherwise == "" {
				t.Errorf("%s of %s is not offered, and nobody says why", o.Name, c.on)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s that are %s, for a %s: %q, want %q", c.on, c.standing, c.role, got, c.want)
		}
	}
}

// Who removes a source reads how many files wait to be fetched from it.
func TestRemovalSaysWhatWaits(t *testing.T) {
	remove := order.New(order.Deps{Tracker: reporttest.Filled(t)}).Find(order.Sources, "remove")
	for source, want := range map[string]string{"harwell": "1 file waits to be fetched from it", "none": "0 files wait to be fetched from it"} {
		if said, err := remove.Effect(t.Context(), source); err != nil || said != want {
			t.Errorf("%s: %q, %v, want %q", source, said, err, want)
		}
	}
}
