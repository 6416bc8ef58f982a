package pages_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/queries/report/reporttest"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// moments serves the story of that name, and tells how the moment after one of its events
// is asked for.
func moments(t *testing.T) (server *httptest.Server, after func(name string) string) {
	t.Helper()
	events, at := reporttest.Moments()
	s := pagestest.Remembering(t, reporttest.Told(t, events), reporttest.HistoryOf(t, events))
	return served(t, s), func(name string) string { return "as_of=" + url.QueryEscape(at(name)) }
}

// What was given up, what data checks had found, and replays are shown as they stood, as
// far as events tell, with what people had ordered of them.
func TestMoreOfTheMoment(t *testing.T) {
	server, after := moments(t)
	harmless := []string{"!<script>a", "!<img", "!\u202e", "As of 21 Nov 2026"}
	page := func(path, name string, wants ...string) {
		t.Helper()
		says(t, server, path+"?"+after(name), 200, append(slices.Clone(harmless), wants...)...)
	}
	page("/dead-letters", "finding", "Nothing that had been given up was left.", "Nobody had ordered anything about it.")
	page("/dead-letters", "accepted", "Of 1 file something had been given up.", "add/"+reporttest.RunningZip, "Nobody had ordered anything")
	page("/dead-letters", "retried", "Of 1 file something", "<bdi>retried</bdi> by <bdi>ann</bdi>", `<a class="btn small first" href="/t/dead-letters">Back to now</a>`)

	page("/findings", "odd", "!events don't tell", "Warnings, when the last batch of their centre had ended", `<bdi>date_odd</bdi></span></th><td role="cell" class="n" data-l="how many">2</td>`,
		"2 findings", "Notes, when the last batch of their centre had ended", "already_present", `<bdi>&lt;script&gt;`)
	says(t, server, "/findings?check=date_odd&"+after("odd"), 200, "No document had failed for what data checks found; something was odd.", "date_odd", "!already_present")
	says(t, server, "/findings?centre=J&"+after("accepted"), 200, "!events don't tell")
	page("/findings", "accepted", `Of <a href="/t/centres/H?as_of=`, "events don't tell warnings and notes of that moment", "!date_odd")
	page("/findings", "accepted", "1 document had failed for what data checks found.", "specimen_unknown", `phase=data&amp;status=failed">1 document</a>`)
	says(t, server, "/findings?centre=J&"+after("accepted"), 200, "No document had failed", "Of all checks and centres")
	before := "as_of=" + url.QueryEscape(reporttest.Start().Add(time.Second).Format(time.RFC3339Nano))
	says(t, server, "/findings?"+before, 200, "No document had failed for what data checks found.")

	page("/replays", "retried", "Nothing had been replayed yet.")
	page("/replays", "asked", "1 replay was under way.", `data-l="chosen">3</td>`, `data-l="requested">0</td>`, "centre = &#39;J&#39;", `<a href="/t/replays/7?as_of=`)
	page("/replays", "stopped", "No replay was under way.", ">stopped</span>", `data-l="requested">1</td>`, `data-l="failed">1</td>`)
	page("/replays/7", "asked", "Replay 7 was running.", "<bdi>requested</bdi> by <bdi>ben</bdi>", "!cid")
	page("/replays/7", "stopped", "Replay 7 was stopped.", "by <bdi>cid</bdi>: <bdi>later</bdi>")
	page("/replays/8", "begun", `shadow <bdi>tighter</bdi>`, `data-l="requested">0</td>`)
	page("/replays/8", "half", `data-l="requested">1</td>`, `data-l="ended">0</td>`, `data-l="failed">0</td>`)
	page("/replays/8", "judged", `data-l="chosen">2</td>`, `data-l="ended">1</td>`, `data-l="failed">1</td>`)
	page("/files/add/"+reporttest.RunningZip, "judged", "!xsd_invalid")
	says(t, server, "/replays/8?"+after("stopped"), 404, "There is nothing here.")
	says(t, server, "/replays/7?"+after("retried"), 404, "There is nothing here.")
}

// Events and recipes are those of up to a moment.
func TestHistoryOfTheMoment(t *testing.T) {
	server := open(t)
	const banner, asOf = "As of 21 Nov 2026, 10:00:08 UTC</strong>", "as_of=2026-11-21T10%3A00%3A08.5Z"
	rows := func(body string) int { return strings.Count(body, "<tr role=\"row\"><th role=\"rowheader\"") }
	body := says(t, server, "/tail?"+before, 200, banner, "tributary report latest --until 2026-11-21T10:00:08.500001Z --since 2026-11-20T10:00:08.5Z", `name="as_of" value="2026-11-21T10:00:08.5Z"`,
		`href="/t/tail?`+asOf+`&amp;since=7d"`, `<a class="btn small first" href="/t/tail">Back to now</a>`)
	if n := rows(body); n != 9 {
		t.Errorf("%d events up to the moment, want 9", n)
	}
	if n := rows(says(t, server, "/tail?as_of=2026-11-21T10:00:08Z", 200)); n != 9 { // that of the moment itself is one
		t.Errorf("%d events up to the time of the last, want 9", n)
	}
	says(t, server, "/tail?since=7d&"+before, 200, `aria-current="true">7d</a>`)
	says(t, server, "/analytics?"+before, 200, banner, `href="/t/analytics/latest?`+asOf+`"`)
	says(t, server, "/analytics/latest?"+before, 200, banner, ">9 rows<", "tributary report latest --until 2026-11-21T10:00:08.500001Z", `name="as_of"`)
	says(t, server, "/analytics/latest?until=2026-11-21T10:00:03Z&"+before, 200, ">3 rows<")
	says(t, server, "/analytics/latest?until=2026-11-21T11:00:00Z&"+before, 200, ">9 rows<")
	says(t, server, "/analytics/latest?since=4s&"+before, 200, ">4 rows<")
	says(t, server, "/analytics/latest", 200, "!>9 rows<")
	says(t, server, "/tail?as_of=2026-11-20", 404, "before_history", "To the first moment")

	body = says(t, server, "/analytics/throughput?as_of=30m", 200)
	picture := strings.TrimPrefix(shows(t, body, `<img class="chart drawn" src="([^"]+)"`), "/t")
	if u, err := url.Parse(picture); err != nil || u.Query().Get("as_of") != "2026-11-21T10:30:00Z" || u.Query().Get("until") != "2026-11-21T10:30:00.000001Z" {
		t.Errorf("the picture is at %s: %v", picture, err)
	}
	says(t, server, picture, 200, "<svg")
}

// No address passes over a moment that it is asked for.
func TestNoAddressPassesOverAMoment(t *testing.T) {
	s := pagestest.Site(t, reporttest.Filled(t))
	site, err := pages.New(s)
	if err != nil {
		t.Fatal(err)
	}
	server := served(t, s)
	path := strings.NewReplacer("{$}", "", "{action}/{name}", "add/a.zip", "{entry...}", "x.xml", "{sha256}", strings.Repeat("0", 64), "{entry}", "x.xml", "{id}", "H", "{name}", "H", "{number}", "1",
		"{recipe}", "throughput", "{position}", "1", "{ordinal}", "1", "{week}", "2026-W47", "{nothing...}", "x")
	asked := 0
	for _, route := range site.Routes() {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		if method != http.MethodGet || strings.HasPrefix(pattern, "/own") { // which is one of a centre: TestOwnHasNoPast
			continue
		}
		for _, moment := range []string{"as_of=yesterday", "at=noon"} {
			asked++
			if status, body := get(t, server, path.Replace(pattern)+"?"+moment); status != http.StatusBadRequest || !strings.Contains(body, strings.SplitN(moment, "=", 2)[0]) {
				t.Errorf("%s?%s: %d\n%.3000s", pattern, moment, status, body)
			}
		}
	}
	if asked < 60 {
		t.Errorf("%d addresses were asked", asked)
	}
	if answer, body := send(t, server, "/sql?as_of=1h", url.Values{"statement": {"SELECT 1"}}); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "no_past") {
		t.Errorf("what changes something: %d\n%s", answer.StatusCode, body)
	}
}

// What a centre sees of its own has no past, and says so.
func TestOwnHasNoPast(t *testing.T) {
	server, _ := linked(t, reporttest.Busy(), nil)
	for _, base := range []string{"/own", "/c/secret-H"} {
		for _, path := range []string{"", "/files", "/documents", "/weeks/2026-W47", "/feed.xml", "/files/add/" + reporttest.InsertedZip} {
			says(t, server, fmt.Sprintf("%s%s?as_of=1h", base, path), http.StatusBadRequest, "can&#39;t be shown as of a moment")
		}
	}
}
