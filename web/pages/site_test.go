package pages_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"tributary/queries/report/reporttest"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// anybody lets everybody in as a reader.
type anybody struct{}

func (anybody) Require(_ access.Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Person{Name: "ann", Role: access.Reader})))
	})
}

// open serves the pages of the story below /t.
func open(t *testing.T) *httptest.Server {
	t.Helper()
	return served(t, pagestest.Site(t, reporttest.Filled(t)))
}

// served serves a site below its prefix.
func served(t *testing.T, s pages.Site) *httptest.Server {
	t.Helper()
	site, err := pages.New(s)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: anybody{}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)
	return server
}

// get is the status and the text of an address below the prefix.
func get(t *testing.T, server *httptest.Server, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(server.URL + "/t" + path) //nolint:noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, read(t, answer)
}

func read(t *testing.T, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestNow(t *testing.T) {
	status, body := get(t, open(t), "/")
	for _, want := range []string{"somebody has to act on name_pattern", `href="/t/documents?phase=xsd&amp;status=failed">1</a>`, `aria-current="page">Now`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d lacks %q:\n%s", status, want, body)
		}
	}
}

// An address that is none is a page too, within the frame.
func TestMissing(t *testing.T) {
	status, body := get(t, open(t), "/nowhere")
	if status != http.StatusNotFound || !strings.Contains(body, "There is nothing here.") || !strings.Contains(body, `href="/t/"`) {
		t.Errorf("%d\n%s", status, body)
	}
}
