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

	"tributary/queries/report/reporttest"
	"tributary/sql/control"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// personal serves the pages of the busy story to one person, at a time that can be moved.
func personal(t *testing.T, name string, now *time.Time, s pages.Site) *httptest.Server {
	t.Helper()
	s.Now = func() time.Time { return *now }
	site, err := pages.New(s)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: name, Role: access.Reader}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)
	return server
}

// keepingSite is what pages of the busy story are made of, with a control beside them.
func keepingSite(t *testing.T) pages.Site {
	t.Helper()
	tracker := reporttest.Told(t, reporttest.Busy())
	s := pagestest.Site(t, tracker)
	if err := control.Migrate(t.Context(), tracker); err != nil {
		t.Fatal(err)
	}
	s.Control = tracker
	return s
}

// Whoever comes back is told what has changed since, in numbers that lead to what they
// count: not to who comes for the first time, nor to another, nor to a program. Half an
// hour without looking ends a visit.
func TestSinceTheLastVisit(t *testing.T) {
	s, start := keepingSite(t), reporttest.Start()
	now := start.Add(5 * time.Minute)
	ann := personal(t, "ann", &now, s)
	const said, failed = "Since you last looked", `<a href="/t/files?since=2026-11-21T09%3A30%3A00Z&amp;status=failed">failed</a>: 1 at <a href="/t/centres/H"><bdi>H</bdi></a>`
	lacks := func(server *httptest.Server, path, text string) {
		t.Helper()
		if _, body := get(t, server, path); strings.Contains(body, text) {
			t.Errorf("%s has %q", path, text)
		}
	}
	lacks(ann, "/", said)
	now = start.Add(34 * time.Minute)
	lacks(ann, "/", said) // the same visit
	now = start.Add(time.Hour)
	lacks(ann, "/", said)
	now = start.Add(90 * time.Minute)
	answers(t, ann, "/", http.StatusOK, said, "No file has changed.", `href="/t/diff?from=2026-11-21T11%3A00%3A00Z">All changes`)
	now = start.Add(95 * time.Minute)
	answers(t, ann, "/", http.StatusOK, said, "No file has changed.") // still of that visit
	for _, other := range []string{"ben", "token:monitor"} {
		lacks(personal(t, other, &now, s), "/", said)
	}
	now = start.Add(3 * time.Hour)
	lacks(personal(t, "token:monitor", &now, s), "/", said)
	lacks(ann, "/?as_of=2026-11-21T10:30:00Z", said)

	if _, err := s.Tracker.Exec(t.Context(), "UPDATE control.visit SET seen_at = $1 WHERE person = 'ben'", start.Add(-30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	answers(t, personal(t, "ben", &now, s), "/", http.StatusOK, said, failed, "Not seen before", `<a class="exc" href="/t/files?exception=xsd_invalid&amp;status=failed"><bdi>xsd_invalid</bdi></a>: 1 file`)
}

// Questions are kept, asked, renamed and deleted by forms, each by who keeps it; texts of
// people do no harm.
func TestQuestions(t *testing.T) {
	s, now := keepingSite(t), reporttest.Start().Add(time.Hour)
	ann, ben := personal(t, "ann", &now, s), personal(t, "ben", &now, s)
	answers(t, ann, "/questions", http.StatusOK, "You keep none yet.")
	answers(t, ann, "/files?status=failed&after=", http.StatusOK, `<form method="post" action="/t/questions"`, `name="kind" value="files"`, `name="asks" value="after=&amp;status=failed"`)
	kept := func(server *httptest.Server, status int, path string, form url.Values) string {
		t.Helper()
		answer, body := send(t, server, path, form)
		if answer.StatusCode != status || status == http.StatusSeeOther && answer.Header.Get("Location") != "/t/questions" {
			t.Fatalf("%s %v: %d to %q\n%s", path, form, answer.StatusCode, answer.Header.Get("Location"), body)
		}
		return body
	}
	const hostile = `<script>alert(1)</script>`
	kept(ann, http.StatusSeeOther, "/questions", url.Values{"name": {hostile}, "kind": {"files"}, "asks": {"status=failed&q=" + url.QueryEscape(hostile+"\u202e")}})
	kept(ann, http.StatusSeeOther, "/questions", url.Values{"name": {"by hand"}, "kind": {"sql"}, "about": {"tracker"}, "asks": {"SELECT '" + hostile + "'"}})
	kept(ann, http.StatusSeeOther, "/questions", url.Values{"name": {"rejected"}, "kind": {"recipe"}, "about": {"rejected"}, "asks": {"centre=H"}})
	answers(t, ann, "/questions", http.StatusOK, "&lt;script&gt;alert(1)", "3 of 50 at most", `<a class="btn small" href="/t/analytics/rejected?centre=H">Ask</a>`,
		`<form method="post" action="/t/sql"><input type="hidden" name="store" value="tracker">`, "tributary report rejected --centre H")
	answers(t, ann, "/", http.StatusOK, "Your questions", `<a href="/t/analytics/rejected?centre=H"><bdi>rejected</bdi></a>`)
	answers(t, ben, "/questions", http.StatusOK, "You keep none yet.")

	if body := kept(ann, http.StatusConflict, "/questions", url.Values{"name": {"rejected"}, "kind": {"files"}}); !strings.Contains(body, "a question is kept by that name already") {
		t.Errorf("a name twice: %s", body)
	}
	if body := kept(ann, http.StatusConflict, "/questions", url.Values{"name": {"x"}, "kind": {hostile}}); !strings.Contains(body, "&lt;script&gt;") || strings.Contains(body, "<script>alert") {
		t.Errorf("a kind that is none: %s", body)
	}
	kept(ben, http.StatusNotFound, "/questions/3/rename", url.Values{"name": {"mine"}})
	kept(ben, http.StatusNotFound, "/questions/3/delete", nil)
	kept(ann, http.StatusNotFound, "/questions/x/delete", nil)
	kept(ann, http.StatusSeeOther, "/questions/3/rename", url.Values{"name": {"weekly"}})
	answers(t, ann, "/questions/3/delete", http.StatusNotFound) // by looking
	kept(ann, http.StatusSeeOther, "/questions/2/delete", nil)
	all, err := control.KeptQuestions(t.Context(), s.Tracker, "ann")
	if err != nil || len(all) != 2 || all[1].Name != "weekly" {
		t.Errorf("kept: %+v, %v", all, err)
	}
	answers(t, busy(t, unchanged), "/questions", http.StatusServiceUnavailable, "it has no connection to where it lies")
}
