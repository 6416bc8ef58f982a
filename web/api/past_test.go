package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"tributary/queries/asof"
	"tributary/queries/report/reporttest"
	"tributary/web/past"
)

// momentsOf serves the story of that name, and tells how the moment after one of its events
// is asked for.
func momentsOf(t *testing.T) (server *httptest.Server, after func(name string) string) {
	t.Helper()
	events, at := reporttest.Moments()
	pool := reporttest.Told(t, events)
	deps := whole(t)
	deps.Tracker, deps.Past = pool, past.New(asof.Reader{History: reporttest.HistoryOf(t, events), Postgres: pool, Writer: asof.Tracked})
	return served(t, New(deps)), func(name string) string { return "as_of=" + url.QueryEscape(at(name)) }
}

// What was given up, what data checks had found, and replays are told as they stood, as
// far as events tell.
func TestMoreOfTheMoment(t *testing.T) {
	server, after := momentsOf(t)
	for _, c := range []struct {
		path, name string
		status     int
		want       string // part of the body; after ! it is not in there
	}{
		{"/dead-letters", "finding", 200, "[]"},
		{"/dead-letters", "accepted", 200, `"about":"add/` + reporttest.RunningZip + `","exception":"quarantined"`},
		{"/dead-letters", "accepted", 200, `"state":"open"`},
		{"/dead-letters", "dropped", 200, "[]"},
		{"/dead-letters?all=true", "dropped", 200, `"dropped":{"by":"dan","reason":"no use"`},
		{"/dead-letters?all=true", "accepted", 200, `!"dropped":`},
		{"/dead-letters?where=centre=J", "accepted", 400, `"type":"/problems/bad_filter"`},
		{"/dead-letters?group=validate", "accepted", 400, `"type":"/problems/bad_filter"`},
		{"/findings", "died", 200, `[{"check":"specimen_unknown","level":"error","centre":"H","findings":1,"meaning":"SPECIMEN_UNKNOWN"}]`},
		{"/findings/H/specimen_unknown", "died", 200, `"check":"specimen_unknown","level":"error","centre":"H","record_type":"","file":"` + reporttest.InvalidZip + `"`},
		{"/findings/H/other", "died", 200, `"rows":[]`},
		{"/findings/nobody/specimen_unknown", "died", 404, `"type":"/problems/unknown_centre"`},
		{"/findings/H/specimen_unknown?after=x", "died", 400, `"type":"/problems/bad_filter"`},
		{"/replays", "retried", 200, "[]"},
		{"/replays", "asked", 200, `"replay":7`},
		{"/replays/7", "asked", 200, `"state":"running"`},
		{"/replays/7", "asked", 200, `"untold":3`},
		{"/replays/7", "stopped", 200, `"state":"stopped"`},
		{"/replays/7", "stopped", 200, `"items":3,"waiting":0,"under_way":0,"complete":0,"failed":1,"refused":0`},
		{"/replays/7", "stopped", 200, `"untold":2`},
		{"/replays/tighter", "half", 200, `"items":2,"waiting":0,"under_way":1,"complete":0,"failed":0,"refused":0`},
		{"/replays/8", "judged", 200, `"items":2,"waiting":0,"under_way":0,"complete":0,"failed":1,"refused":0`},
		{"/findings", "odd", 200, `{"check":"date_odd","level":"warn","centre":"H","findings":2,`},
		{"/findings", "accepted", 200, `!date_odd`},
		{"/replays/8", "stopped", 404, `"type":"/problems/no_such_replay"`},
		{"/replays/7", "retried", 404, `"type":"/problems/no_such_replay"`},
	} {
		path := c.path + "?" + after(c.name)
		if strings.Contains(c.path, "?") {
			path = c.path + "&" + after(c.name)
		}
		answer, body := ask(t, server, base+path)
		want, without := strings.CutPrefix(c.want, "!")
		if answer.StatusCode != c.status || strings.Contains(string(body), want) == without {
			t.Errorf("%s after %s: %d %s, want %d with %s", c.path, c.name, answer.StatusCode, body, c.status, c.want)
		}
		if c.status == http.StatusOK && !strings.HasPrefix(answer.Header.Get("Tributary-History"), "as of ") {
			t.Errorf("%s after %s doesn't say how far the history goes: %q", c.path, c.name, answer.Header.Get("Tributary-History"))
		}
	}
}

// A recipe counts what was told up to the moment, and one document is as it stood.
func TestHistoryOfTheMoment(t *testing.T) {
	server := served(t, New(whole(t)))
	for path, rows := range map[string]int{
		"/recipes/latest?as_of=" + then:                                 9,
		"/recipes/latest?as_of=" + then + "&until=2026-11-21T10:00:03Z": 3,
		"/recipes/latest?as_of=" + then + "&since=4s":                   4,
	} {
		answer, body := ask(t, server, base+path)
		if n := strings.Count(string(body), `["2026-`); answer.StatusCode != 200 || n != rows || answer.Header.Get("Tributary-History") == "" {
			t.Errorf("%s: %d with %d rows, want %d: %s", path, answer.StatusCode, n, rows, body)
		}
	}
	document := base + "/files/add/" + reporttest.GoodZip + "/document?entry=" + url.QueryEscape("H.2012-10-02.1.specimen.impc.xml")
	if answer, body := ask(t, server, document+"&as_of=30m"); answer.StatusCode != 200 || !strings.Contains(string(body), `"as_of":"2026-11-21T10:30:00Z"`) {
		t.Errorf("a document of a moment: %d %s", answer.StatusCode, body)
	}
	if answer, body := ask(t, server, document+"&as_of="+then); answer.StatusCode != 404 || !strings.Contains(string(body), "no_such_document") {
		t.Errorf("a document of before it was found: %d %s", answer.StatusCode, body)
	}
}

// No operation passes over a moment that it is asked for.
func TestNoOperationPassesOverAMoment(t *testing.T) {
	a := New(whole(t))
	server := served(t, a)
	path := strings.NewReplacer("{action}/{name}", "add/a.zip", "{entry}", "a.xml", "{sha256}", strings.Repeat("0", 64), "{number}", "1", "{id}", "H", "{centre}", "H", "{source}", "harwell",
		"{recipe}", "latest", "{replay}", "3", "{check}", "x", "{position}", "1", "{ordinal}", "1")
	know, refuse := 0, 0
	for pattern, item := range a.huma.OpenAPI().Paths {
		for method, operation := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post} {
			if operation == nil {
				continue
			}
			want := "/problems/no_past"
			if refuse++; a.knowsMoments(method, pattern) {
				want, know, refuse = "/problems/bad_moment", know+1, refuse-1
			}
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path.Replace(pattern)+"?as_of=yesterday&entry=a.xml", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(pattern, "/document") || strings.HasPrefix(pattern, base+"/documents") {
				r.URL.RawQuery = "as_of=yesterday"
			}
			r.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body := make([]byte, 4096)
			n, _ := answer.Body.Read(body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body[:n]), want) {
				t.Errorf("%s %s: %d %s, want %s", method, pattern, answer.StatusCode, body[:n], want)
			}
		}
	}
	if know < 20 || refuse < 40 {
		t.Errorf("%d operations know moments, and %d refuse them", know, refuse)
	}
}
