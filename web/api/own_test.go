package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/queries/own"
	"tributary/queries/report/reporttest"
	"tributary/web/access"
	"tributary/web/order"
)

// of makes who asks a producer of a centre.
func of(centre string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Person{Name: "pat", Role: access.Producer, Centre: centre})))
	})
}

// What is a centre's own is told by its link as to who has the role producer, as the
// document says, and nothing of others: what is another's is as if it were not.
func TestOwn(t *testing.T) {
	const document = "H.2026-11-20.1.specimen.impc.xml"
	a := New(Deps{Tracker: reporttest.Told(t, reporttest.Busy()), Orders: order.New(order.Deps{}), Log: slog.New(slog.DiscardHandler), Version: "1",
		Now: func() time.Time { return reporttest.Start().Add(time.Hour) }, ByLink: func(next http.Handler) http.Handler { return of("H", next) }})
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		if strings.HasPrefix(r.Pattern, "GET "+base+"/own") {
			r.Handler = of("H", r.Handler)
		}
		mux.Handle(r.Pattern, r.Handler)
	}
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w
	}
	good, theirs := "/files/add/"+reporttest.InvalidZip, "/files/add/"+reporttest.RunningZip
	nothing := ask(base + "/own/files/add/nothing.zip")
	asked := map[string]bool{}
	for _, c := range []struct {
		operation, path string
		status          int
		want            string
	}{
		{"", "", 200, `"centre":"H"`},
		{"/files", "/files", 200, `"stands":"to correct"`},
		{"/files", "/files?limit=1&sort=name", 200, `"next":"`},
		{"/files", "/files?exception=transfer_truncated", 200, `"rows":[]`},
		{"/files", "/files?status=late", 400, `"type":"/problems/bad_filter"`},
		{"/files", "/files?centre=J", 422, `"location":"query.centre"`},
		{"/files", "/files?as_of=2h", 400, "/problems/no_past"},
		{"/documents", "/documents?status=failed", 200, `"document":"` + document},
		{"/files/{action}/{name}", good, 200, `"title":"`},
		{"/files/{action}/{name}", theirs, 404, nothing.Body.String()},
		{"/files/{action}/{name}", "/files/steal/a.zip", 422, `"location":"path.action"`},
		{"/files/{action}/{name}/document", good + "/document?entry=" + document, 200, `"problems":[{"line":`},
		{"/files/{action}/{name}/document", good + "/document?entry=none.xml", 404, nothing.Body.String()},
		{"/files/{action}/{name}/document", theirs + "/document?entry=" + document, 404, nothing.Body.String()},
		{"/weeks/{week}", "/weeks/" + own.Name(own.Monday(reporttest.Start())), 200, `"days":[`},
		{"/weeks/{week}", "/weeks/2020-W01", 404, nothing.Body.String()},
	} {
		w, byLink := ask(base+"/own"+c.path), ask("/c/secret"+base+"/own"+c.path)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %d with %s", c.path, w.Code, w.Body, c.status, c.want)
			continue
		}
		if d := gocmp.Diff(w.Body.String(), byLink.Body.String()); d != "" || byLink.Code != w.Code {
			t.Errorf("%s by a link: %d\n%s", c.path, byLink.Code, d)
		}
		for _, name := range []string{"jax", reporttest.RunningZip, reporttest.RetriedZip} {
			if strings.Contains(w.Body.String(), name) {
				t.Errorf("%s tells of %s: %s", c.path, name, w.Body)
			}
		}
		for _, path := range []string{base + "/own" + c.operation, linked + base + "/own" + c.operation} {
			asked[path] = true
			conforms(t, a, path, w)
		}
	}
	for path := range a.huma.OpenAPI().Paths {
		if strings.Contains(path, "/own") && !asked[path] {
			t.Errorf("%s is asked by no test", path)
		}
	}
	if w := ask("/c/secret" + base + "/own/nothing"); w.Code != http.StatusNotFound {
		t.Errorf("an address that there is not: %d", w.Code)
	}
	reader := httptest.NewRequestWithContext(access.With(t.Context(), access.Person{Name: "ann", Role: access.Operator}), http.MethodGet, base+"/own", nil)
	w := httptest.NewRecorder()
	served := http.NewServeMux()
	for _, r := range a.Routes() {
		served.Handle(r.Pattern, r.Handler)
	}
	if served.ServeHTTP(w, reader); w.Code != http.StatusNotFound {
		t.Errorf("who is of no centre: %d %s", w.Code, w.Body)
	}
}

// conforms holds an answer against the document.
func conforms(t *testing.T, a *API, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	described := a.huma.OpenAPI().Paths[path].Get.Responses[strings.Fields(w.Result().Status)[0]]
	if described == nil {
		t.Errorf("%s: an answer of status %d is not in the document", path, w.Code)
		return
	}
	media := described.Content[cmp.Or(w.Header().Get("Content-Type"), "application/json")]
	if media == nil {
		t.Errorf("%s: an answer of type %s is not in the document", path, w.Header().Get("Content-Type"))
		return
	}
	var value any
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	result := &huma.ValidateResult{}
	huma.Validate(a.huma.OpenAPI().Components.Schemas, media.Schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeReadFromServer, value, result)
	if len(result.Errors) > 0 {
		t.Errorf("%s: the answer is not of its schema: %v", path, errors.Join(result.Errors...))
	}
}

// Whoever has no good link gets nothing, where nobody looks links up neither.
func TestOwnWithoutLinks(t *testing.T) {
	server := served(t, made(nil))
	for _, path := range []string{"/own", "/own/files?q=" + url.QueryEscape("a b")} {
		if answer, body := ask(t, server, "/c/secret"+base+path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}
