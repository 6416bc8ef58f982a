package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"tributary/producers/plan/plantest"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// Wranglers decide about documents by forms, as often as they like; what they say does
// no harm, wherever it is shown, and readers are offered nothing.
func TestQualityControl(t *testing.T) {
	const specimen = "H.2012-10-02.1.specimen.impc.xml"
	story := reporttest.Story()
	for i := range story {
		if story[i].Entry == specimen {
			story[i].SHA256 = strings.Repeat("a", 64)
		}
	}
	tracker, p := reporttest.Told(t, story), plantest.New(t)
	site := pagestest.Site(t, tracker)
	site.Orders = order.New(order.Deps{Control: p.Pool, Tracker: tracker, Outbox: p.Outbox})
	s, err := pages.New(site)
	if err != nil {
		t.Fatal(err)
	}
	by := func(role access.Role) *httptest.Server {
		server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: "ann", Role: role}, Routes: s.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
		t.Cleanup(server.Close)
		return server
	}
	reader, wrangler := by(access.Reader), by(access.Wrangler)
	of := "/documents/add/" + reporttest.GoodZip + "/" + strings.Repeat("a", 64) + "/" + specimen
	document := "/files/add/" + reporttest.GoodZip + "/documents/" + specimen

	says(t, reader, "/quality", http.StatusOK, "1 document awaiting", ">"+specimen+"<", "nothing yet", "!experiment.impc.xml", "!Accept …", "!>Decide<", "tributary documents --qc awaiting --sort name")
	says(t, wrangler, "/quality?centre=h", http.StatusOK, "1 document awaiting", ">Decide<", `href="/t`+of+`/accept">Accept …`, `href="/t`+of+`/hold">Hold …`)
	says(t, wrangler, "/quality?centre=Ics", http.StatusNotFound)
	says(t, wrangler, "/quality?qc=held", http.StatusOK, "There is no document of which this is so", "0 documents held")
	says(t, wrangler, "/quality?qc=liked", http.StatusBadRequest, "accepted, awaiting, held, questioned")
	says(t, wrangler, document, http.StatusOK, "It is in the warehouse.", `href="/t`+of+`/question">Question …`)
	says(t, wrangler, of+"/hold", http.StatusOK, "it is held", "data are not to be used. They stay in the warehouse", `name="reason"`, "required", "tributary documents qc hold add/"+reporttest.GoodZip+"/"+specimen)
	if messages := p.Drain(); len(messages) != 0 {
		t.Fatalf("looking has told %v", messages)
	}

	decide := func(name, reason string, want int) string {
		t.Helper()
		answer, body := send(t, wrangler, of+"/"+name, url.Values{"reason": {reason}})
		if answer.StatusCode != want || want == http.StatusSeeOther && answer.Header.Get("Location") != "/t"+document {
			t.Errorf("%s: %d to %q\n%s", name, answer.StatusCode, answer.Header.Get("Location"), body)
		}
		for _, m := range p.Drain() {
			if e, ok := m.Body.(*schemas.StatusChanged); ok {
				reporttest.Add(t, tracker, *e)
			}
		}
		return body
	}
	decide("hold", "", http.StatusBadRequest)
	decide("hold", strings.Repeat("ä", control.MaxReason+1), http.StatusBadRequest)
	decide("hold", reporttest.HostileMessage, http.StatusSeeOther)
	const harmless = "&lt;script&gt;alert(2)&lt;/script&gt;{{.}}"
	for _, path := range []string{"/quality?qc=held", document} {
		says(t, reader, path, http.StatusOK, "<b>held</b>", "by <bdi>ann</bdi>", harmless, "!<script>alert")
	}
	says(t, reader, document, http.StatusOK, `<a href="#quality">It is in the warehouse, and its data are not to be used.`, `<li class="cancelled here"><b>qc</b>`)
	says(t, reader, "/files/add/"+reporttest.GoodZip, http.StatusOK, `<span class="muted">held</span>`)
	says(t, wrangler, "/quality", http.StatusOK, "0 documents awaiting", "!>"+specimen+"<")
	if body := decide("hold", "again", http.StatusConflict); !strings.Contains(body, "it is held already") {
		t.Errorf("held again: %s", body)
	}
	decide("question", "is the sex right?", http.StatusSeeOther)
	says(t, reader, "/quality?qc=questioned", http.StatusOK, "1 document questioned", "is the sex right?")
	decide("accept", "", http.StatusSeeOther)
	says(t, reader, document, http.StatusOK, "was accepted in quality control", `<li class="done here"><b>qc</b>`)
	if answer, _ := send(t, reader, of+"/hold", url.Values{"reason": {"x"}}); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a reader decides: %d", answer.StatusCode)
	}
	other := strings.Replace(of, "aaaa", "aaab", 1)
	if answer, body := send(t, wrangler, other+"/hold", url.Values{"reason": {"x"}}); answer.StatusCode != http.StatusConflict || !strings.Contains(body, "other bytes") {
		t.Errorf("bytes that are not shown are held: %d %s", answer.StatusCode, body)
	}
}
