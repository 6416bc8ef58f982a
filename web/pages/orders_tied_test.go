package pages_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tributary/producers/plan/plantest"
	"tributary/web/access"
)

// What a form shows is what it orders: where the source is defined otherwise by the time
// it is sent, nothing is ordered, and the form shows what would be done now.
func TestAFormOrdersWhatItShows(t *testing.T) {
	p := plantest.New(t)
	defines := func(rule string) {
		p.Exec("UPDATE control.source SET url = 'sftp://h/out', definition = jsonb_build_object('id', id, 'url', 'sftp://h/out', 'done_with', $2::text) WHERE id = $1", plantest.Own, rule)
	}
	acts := func() string { return p.Text("SELECT acts FROM control.source WHERE id = $1", plantest.Own) }
	server := ordering(t, p, access.Operator)
	act := "/sources/" + plantest.Own + "/act"
	seen := func(body string) string {
		t.Helper()
		found := regexp.MustCompile(`name="seen" value="([^"]*)"`).FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("the form is tied to nothing\n%s", body)
		}
		return html.UnescapeString(found[1])
	}

	defines("move done")
	_, body := get(t, server, act)
	shown := seen(body)
	defines("delete")
	answer, body := send(t, server, act, url.Values{"reason": {"agreed"}, "seen": {shown}, "confirm": {plantest.Own}})
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "definition_changed") || !strings.Contains(body, "delete at sftp://h/out; files that wait") || strings.Contains(acts(), "sftp") {
		t.Errorf("%d, and ordered is %s\n%s", answer.StatusCode, acts(), body)
	}
	if answer, body = send(t, server, act, url.Values{"reason": {"agreed"}, "seen": {seen(body)}, "confirm": {plantest.Own}}); answer.StatusCode != http.StatusSeeOther || !strings.Contains(acts(), "delete at sftp://h/out") {
		t.Errorf("%d, and ordered is %s\n%s", answer.StatusCode, acts(), body)
	}
}
