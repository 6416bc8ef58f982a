package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"tributary/web"
)

// A browser asks whether a file is still the one that it has, and folders aren't listed.
func TestStatic(t *testing.T) {
	handler := web.New(web.Config{Prefix: "/t"}, web.Deps{Static: fstest.MapFS{"a/b.css": {Data: []byte("p{}")}}, Log: slog.New(slog.DiscardHandler)}).Handler()
	ask := func(path, has string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", has)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	first := ask("/t/static/a/b.css", "")
	if first.Code != http.StatusOK || first.Body.String() != "p{}" || first.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v %s", first.Code, first.Header(), first.Body)
	}
	if again := ask("/t/static/a/b.css", first.Header().Get("Etag")); again.Code != http.StatusNotModified {
		t.Errorf("asked again: %d", again.Code)
	}
	for _, path := range []string{"/t/static/", "/t/static/a", "/t/static/a/", "/t/static/../web.go"} {
		if w := ask(path, ""); w.Code == http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
