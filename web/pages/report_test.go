package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tributary/queries/report/reporttest"
	"tributary/web/access"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// A centre's page leads to what is sent to it: a file that needs nothing else, which no
// browser shows as a page of these.
func TestReportOfACentre(t *testing.T) {
	s := pagestest.Site(t, reporttest.Told(t, reporttest.Busy()))
	server := servedTo(t, s, access.Reader)
	const link = `<a href="/t/centres/H/report" download>Report to send to it</a>`
	says(t, server, "/centres/H", 200, link)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/t/centres/h/report", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if h := answer.Header; answer.StatusCode != http.StatusOK || h.Get("Content-Disposition") != "attachment; filename=H.2026-11-21.html" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Cache-Control") != "private, no-store" {
		t.Errorf("%d, %v", answer.StatusCode, h)
	}
	says(t, server, "/centres/h/report", 200, "MRC Harwell", reporttest.InvalidZip, "xsd_invalid", "who should correct the document", "!<script>alert", "!\u202e")
	for path, status := range map[string]int{"/centres/nowhere/report": 404, "/centres/%00/report": 404, "/centres/H/report?as_of=2h": 400} {
		says(t, server, path, status, "!attachment")
	}
	site, err := pages.New(s)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	for _, route := range site.Routes() {
		if route.Pattern == "GET /centres/{name}/report" {
			r, w := httptest.NewRequestWithContext(over, http.MethodGet, "/centres/H/report", nil), httptest.NewRecorder()
			r.SetPathValue("name", "H")
			route.Handler.ServeHTTP(w, r)
			if body := w.Body.String(); w.Code != 503 || !strings.Contains(body, "The report can&#39;t be made within a minute.") || !strings.Contains(body, "tributary centres report H -o html") {
				t.Errorf("too late: %d\n%s", w.Code, body)
			}
		}
	}
	s.Advice = nil
	server = servedTo(t, s, access.Reader)
	says(t, server, "/centres/H", 200, "!/report")
	says(t, server, "/centres/H/report", 503, "This can&#39;t be read here.")
}
