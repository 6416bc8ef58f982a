package pages_test

import (
	"context"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/queries/asof"
	"tributary/queries/report/reporttest"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
	"tributary/web/past"
)

// before is a moment of the story at which its good file had just been requested: the
// story has one event a second.
const before = "as_of=2026-11-21T10%3A00%3A08.5Z"

// Pages show how it stood, say so, and lead to others of the same moment; what is not of
// that moment is not there.
func TestPagesOfTheMoment(t *testing.T) {
	server := open(t)
	const good, waits = ">H.2012-10-02.01.impc.zip</bdi>", ">H.2012-10-09.01.impc.zip</bdi>"
	const banner = "As of 21 Nov 2026, 10:00:08 UTC</strong>"
	says(t, server, "/?"+before, 200, banner, "59 min ago, from the history", `<a class="btn small first" href="/t/">Back to now</a>`, "!data-events", "!class=\"live", "!As of…",
		`href="/t/files?as_of=2026-11-21T10%3A00%3A08.5Z&amp;phase=download&amp;status=pending">1</a>`, "tributary status --as-of 2026-11-21T10:00:08.5Z",
		`href="/t/diff?from=2026-11-21T10%3A00%3A08.5Z">since then, until now</a>`, `What became of it</th>`, `<span class="ph">xsd</span> <b>failed</b></span></span> <span class="exc"><bdi>xsd_invalid</bdi></span> <time class="muted" datetime="2026-11-21T10:00:16Z" title="21 Nov 2026, 10:00:16 UTC">10:00:16</time></td>`, "<title>Now, as of 21 Nov 2026, 10:00:08 UTC", `<a href="/t/sql">`, `<a href="/t/dead-letters?as_of=2026-11-21T10%3A00%3A08.5Z">`, `action="/t/theme"`)
	says(t, server, "/files?"+before, 200, banner, `<h2 id="h-list">2 files</h2>`, good, "!"+waits, `<a class="btn small first" href="/t/files">Back to now</a>`,
		`href="/t/files/add/H.2012-10-02.01.impc.zip?as_of=2026-11-21T10%3A00%3A08.5Z"`, "tributary files --sort newest --as-of 2026-11-21T10:00:08.5Z", `<input type="hidden" name="as_of" value="2026-11-21T10:00:08.5Z">`)
	says(t, server, "/files?status=pending&since=1m&"+before, 200, good, "!"+waits, "!BadZip", "--since 2026-11-21T09:59:08.5Z", `<a class="btn small first" href="/t/files?since=2026-11-21T09%3A59%3A08.5Z&amp;status=pending">`,
		`<input type="hidden" name="status" value="pending">`)
	says(t, server, "/files/add/"+reporttest.GoodZip+"?"+before, 200, banner, "It is on the way", "!brought", `href="/t/files/add/H.2012-10-02.01.impc.zip?as_of=2026-11-21T10%3A00%3A08.5Z&amp;events=all"`,
		"tributary show add/H.2012-10-02.01.impc.zip --as-of")
	says(t, server, "/documents?"+before, 200, banner, "No file has been seen yet.")
	says(t, server, "/documents?as_of=30m", 200, "As of 21 Nov 2026, 10:30:00 UTC", "H.2012-10-02.1.experiment.impc.xml", "which is filled up to 2026-11-21T10:00:21Z")
	says(t, server, "/files/add/"+reporttest.GoodZip+"/documents/H.2012-10-02.1.experiment.impc.xml?as_of=30m", 200, "no id", "As of 21 Nov 2026, 10:30:00 UTC")
	says(t, server, "/sources?"+before, 200, banner, `href="/t/sources/harwell?as_of=2026-11-21T10%3A00%3A08.5Z"`, "!On the command line")
	says(t, server, "/sources/harwell?"+before, 200, banner, "harwell delivers.", "sftp://h:22/out")
	says(t, server, "/centres?"+before, 200, banner, "MRC Harwell")
	says(t, server, "/centres/H?"+before, 200, banner, "Files of H are on their way", "MRC Harwell", "What became of it")
	says(t, server, "/", 200, "What it waits for</th>", "!What became of it")
	says(t, server, "/sessions?"+before, 200, banner, `href="/t/sessions/1?as_of=2026-11-21T10%3A00%3A08.5Z"`)
	says(t, server, "/sessions/1?"+before, 200, banner, `<a href="/t/sources/harwell?as_of=`)
	// What was not there yet is not, of that moment.
	says(t, server, "/files/add/"+reporttest.BrokenZip+"?"+before, 404, banner, "There is nothing here.", `<a href="/t/?as_of=`)
	says(t, server, "/files/add/"+reporttest.BrokenZip, 200)
	says(t, server, "/files?status=late&"+before, 400, banner, "This address can&#39;t be read.")
}

// A page of now has the form that leads to moments of it, with what it is narrowed to.
func TestChooseAMoment(t *testing.T) {
	server := open(t)
	says(t, server, "/files?status=failed&after=", 200, "As of…", `<a href="/t/files?as_of=2026-11-20T11%3A00%3A00Z&amp;status=failed">a day ago</a>`, `<form action="/t/files" class="flow"><input type="hidden" name="status" value="failed"><label`, `class="live`)
	says(t, server, "/dead-letters", 200, `<form action="/t/dead-letters" class="flow"><label`, `<a href="/t/dead-letters?as_of=2026-11-21T10%3A00%3A00Z">1 h ago</a>`)
	says(t, server, "/sql", 200, `<form action="/t/" class="flow"><label`, `<a href="/t/?as_of=2026-11-21T10%3A00%3A00Z">1 h ago</a>`)
	says(t, server, "/files/add/nothing", 404, `<form action="/t/" class="flow"><label`)
}

// What is no moment, what is to come, and what nobody remembers is told of by a name that
// stays, and by a page that leads back to now.
func TestBadMoments(t *testing.T) {
	server := open(t)
	for given, x := range map[string]struct {
		status int
		name   string
	}{
		"yesterday": {400, "bad_moment"}, "-2h": {400, "bad_moment"}, "2999-01-01": {400, "bad_moment"}, "9999-12-31T23:59:59Z": {400, "bad_moment"},
		"\x00": {400, "bad_moment"}, "\xff": {400, "bad_moment"}, "<script>\u202e": {400, "bad_moment"}, strings.Repeat("9", 5000): {400, "bad_moment"},
		"2026-11-21": {404, "before_history"}, "0001-01-01T00:00:00Z": {404, "before_history"}, "90y": {400, "bad_moment"}, "5000w": {404, "before_history"},
	} {
		says(t, server, "/files?as_of="+url.QueryEscape(given), x.status, "That moment can&#39;t be shown.", `<span class="exc">`+x.name+"</span>", "!<script>a", "!<bdi><script>", "!\u202e", `class="live`, `href="/t/files">Files`)
	}
	says(t, server, "/?as_of=", 200, `class="live`)
	says(t, server, "/?as_of=2026-11-21", 404, "the history begins at 2026-11-21T10:00:00Z")
	for _, page := range []string{"/audit", "/questions", "/lineage", "/sql", "/diff?from=1h&", "/replays/1/compare"} {
		path, query, _ := strings.Cut(page, "?")
		says(t, server, path+"?"+query+"as_of=30m", 400, `<span class="exc">no_past</span>`)
	}
	without := served(t, pages.Site{Prefix: "/t", Tracker: reporttest.Filled(t), Now: func() time.Time { return reporttest.Start().Add(time.Hour) }})
	says(t, without, "/?as_of=30m", 503, `<span class="exc">no_history</span>`)
	says(t, without, "/diff", 503, `<span class="exc">no_history</span>`)
}

// remembered serves the pages of the hostile story below /t, of which the history has all.
func remembered(t *testing.T) *httptest.Server {
	t.Helper()
	s := pagestest.Remembering(t, reporttest.Told(t, reporttest.Hostile()), reporttest.HistoryOf(t, reporttest.Hostile()))
	s.Position = func(context.Context) string { return "1" } // pages of now are told of changes
	return served(t, s)
}

// Of the past, too, names and messages that mean harm are text, and pages follow one
// another.
func TestThePastOfHostileNames(t *testing.T) {
	server := remembered(t)
	harmless := []string{"!<script>a", "!<img", "!<svg onload", "!\u202e", "!\u2066", "!javascript:alert(1)"}
	body := says(t, server, "/files?action=edit&as_of=30m", 200, append(harmless, "As of 21 Nov 2026, 10:30:00 UTC")...)
	if strings.Contains(body, "data-events") {
		t.Error("a page of the past is told of changes")
	}
	says(t, server, "/files", 200, "data-events")
	file := strings.TrimPrefix(shows(t, body, `class="mono nowrap wide cut"><span class="muted">edit/</span><a href="([^"]+)"`), "/t")
	says(t, server, file, 200, append(harmless, "As of 21 Nov 2026, 10:30:00 UTC", "!There is nothing here")...)
	says(t, server, "/diff?from=1h&file=%3Cscript%3E*", 200, append(harmless, "1 file and 1 document changed.", "&lt;script&gt;alert(1)&lt;/script&gt;\ufffdgnp")...)
	says(t, server, "/diff?file=%3Cscript%3E&centre=%22%3E", 200, harmless...)
	seen, at := 0, "/files?as_of=30m"
	for n := 0; at != "" && n < 5; n++ {
		body := says(t, server, at, 200, "As of 21 Nov 2026, 10:30:00 UTC")
		seen += strings.Count(body, `class="mono nowrap wide cut"`)
		at = ""
		if strings.Contains(body, "Next page") {
			at = strings.TrimPrefix(shows(t, body, `href="([^"]+)" rel="next"`), "/t")
		}
	}
	if seen != 75 {
		t.Errorf("%d files, want 75", seen)
	}
}

// What changed: in numbers that lead to what they count, and one by one, page by page.
func TestWhatChanged(t *testing.T) {
	server := remembered(t)
	says(t, server, "/diff", 200, "Say since when", `aria-current="page">Changes`, `href="/t/diff?from=24h"`, "!One by one")
	body := says(t, server, "/diff?from=1h", 200, "!data-events", "75 files and 3 documents changed.", "after <a href=\"/t/?as_of=2026-11-21T10%3A00%3A00Z\">", `>75 files new</a>`, ">3 documents new</a>",
		`href="/t/files/add/H.2012-10-02.01.impc.zip?as_of=2026-11-21T11%3A00%3A00Z"`, "tributary diff --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z",
		`href="/t/diff?change=new&amp;from=2026-11-21T10%3A00%3A00Z&amp;kind=document&amp;to=2026-11-21T11%3A00%3A00Z"`)
	row := regexp.MustCompile(`<td role="cell" class="nowrap">(\w+) new</td>`)
	kinds := map[string]int{}
	for n := 0; n < 5; n++ {
		for _, m := range row.FindAllStringSubmatch(body, -1) {
			kinds[m[1]]++
		}
		if !strings.Contains(body, "Next page") {
			break
		}
		body = says(t, server, strings.TrimPrefix(shows(t, body, `href="([^"]+)" rel="next"`), "/t"), 200)
	}
	if kinds["file"] != 75 || kinds["document"] != 3 {
		t.Errorf("one by one there are %v", kinds)
	}
	says(t, server, "/diff?from=2026-11-21T10:00:11.5Z&to=2026-11-21T10:00:16.5Z&centre=h", 200, "1 file and 2 documents changed.", "file moved", "document new", "!H2013",
		`<span class="ph">download</span> <b>pending</b>`, `href="/t/files/add/H.2012-10-02.01.impc.zip?as_of=2026-11-21T10%3A00%3A11.5Z"`, "--centre h")
	says(t, server, "/diff?from=1h&kind=document", 200, "75 files and 3 documents changed.", "document new", `href="/t/diff?from=2026-11-21T10%3A00%3A00Z&amp;to=2026-11-21T11%3A00%3A00Z">All kinds of change`, "!<td role=\"cell\" class=\"nowrap\">file new")
	says(t, server, "/diff?from=30m&to=20m", 200, "Nothing changed between the two moments.")
	says(t, server, "/diff?from=2026-11-20&to=30m", 200, "75 files", "!after <a href", "!as_of=2026-11-20T00%3A00")
	for query, x := range map[string]struct {
		status int
		want   string
	}{
		"from=soon": {400, "bad_moment"}, "from=20m&to=30m": {400, "bad_moment"}, "from=1h&to=2999-01-01": {400, "bad_moment"}, "from=2026-11-01&to=2026-11-02": {404, "before_history"},
		"from=1h&centre=nobody": {404, "known are"}, "from=1h&kind=row": {400, "kind &#34;row&#34;"}, "from=1h&change=x": {400, "moved"}, "from=1h&after=x": {400, "after"}, "from=1h&file=%00": {400, "this is no text"},
		"from=1h&after=WyJhIiwiYiIsIlx1MDAwMCIsIiJd": {400, "after"}, "from=1h&limit=0": {400, "limit"},
	} {
		says(t, server, "/diff?"+query, x.status, x.want)
	}
}

// What pages of a moment link to of that moment is there: one of each address with other
// values.
func TestLinksOfTheMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and is left out with -short; quicker: TestPagesOfTheMoment")
	}
	server := open(t)
	seen := map[string]bool{}
	for _, path := range []string{"/?as_of=30m", "/sources/harwell?as_of=30m", "/centres/H?as_of=30m"} {
		_, body := get(t, server, path)
		for _, m := range regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			u, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			u.Fragment = ""
			shape := u.Path + " " + strings.Join(slices.Sorted(maps.Keys(u.Query())), " ")
			if seen[shape] || !u.Query().Has("as_of") {
				continue
			}
			seen[shape] = true
			if status, _ := get(t, server, strings.TrimPrefix(u.String(), "/t")); status != http.StatusOK {
				t.Errorf("%s leads to %s, which answers %d", path, u, status)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d addresses were found: %v", len(seen), seen)
	}
}

// From a moment others are reached: along what was received, by hours, days and sessions,
// as far as the history goes and up to now; and what changed between it and them, of what
// the page is about.
func TestAlongTime(t *testing.T) {
	tracker := reporttest.Filled(t)
	server := served(t, pagestest.Site(t, tracker))
	const noSteps, moment = "!data-step", `<input type="range" name="at" min="1795249800" max="1795260600" step="60" value="1795257000" aria-label="Moment" aria-valuetext="21 Nov 2026, 10:30:00 UTC"`
	says(t, server, "/files?status=failed&as_of=30m", 200, noSteps, moment, "!− 1 d", "!Session 1 ›", `<form class="along" action="/t/files" aria-label="Along time"><input type="hidden" name="status" value="failed">`,
		`aria-label="Files received from 21 Nov 2026, 08:30 to 21 Nov 2026, 11:30 UTC: 1 in all, at most 1 in a minute"`, "<span>08:30</span>", `href="/t/diff?from=2026-11-21T10%3A30%3A00Z">since then, until now</a>`, "!in the hour before")
	if _, err := tracker.Exec(t.Context(), "UPDATE tracker.crawling_session SET finish_time = '2026-11-21T10:00:20.5Z', status = 0"); err != nil {
		t.Fatal(err)
	}
	says(t, server, "/centres/H?as_of=30m", 200, `href="/t/centres/H?as_of=2026-11-21T10%3A00%3A20.5Z">‹ Session 1</a>`, `href="/t/diff?centre=H&amp;from=2026-11-21T10%3A30%3A00Z">since then, until now</a>`)
	says(t, server, "/?"+before, 200, `href="/t/?as_of=2026-11-21T10%3A00%3A20.5Z">Session 1 ›</a>`, "!‹ Session 1")
	says(t, server, "/files/add/"+reporttest.GoodZip+"?as_of=30m", 200, `href="/t/diff?file=H.2012-10-02.01.impc.zip&amp;from=2026-11-21T10%3A30%3A00Z">since then`)
	says(t, server, "/diff?from=1h&to=30m", 200, `aria-label="Files received from 21 Nov 2026, 08:30`, `<rect class="mark" x="90.00" y="0" width="30.00"`, `href="/t/diff?from=2026-11-21T10%3A30%3A00Z&amp;to=2026-11-21T11%3A00%3A00Z">As long after ›</a>`)

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for asked, want := range map[string]string{
		"/files?status=failed&after=x&at=1795257000": "/t/files?as_of=2026-11-21T10%3A30%3A00Z&status=failed",
		"/files?as_of=2h&at=1795257000":              "/t/files?as_of=2026-11-21T10%3A30%3A00Z",
		"/?at=1795258800":                            "/t/",
		"/?span=24h&at=9223372036854775807":          "/t/?span=24h",
	} {
		answer, err := client.Get(server.URL + "/t" + asked) //nolint:noctx // the test's own server
		if err != nil {
			t.Fatal(err)
		}
		read(t, answer)
		if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != want {
			t.Errorf("%s leads to %s (%d), want %s", asked, answer.Header.Get("Location"), answer.StatusCode, want)
		}
	}
	says(t, server, "/?at=", 400, `<span class="exc">bad_moment</span>`)
	says(t, server, "/?at=%3Cscript%3Ea", 400, "bad_moment", "!<script>a")
}

// A question about the past that takes more than is read for one answer is answered by a
// name that stays, by the command that answers it, and by what can be asked instead.
func TestTooMuchOfThePast(t *testing.T) {
	tracker := reporttest.Filled(t)
	site := pagestest.Site(t, tracker)
	site.Past = past.New(asof.Reader{History: reporttest.History(t), Postgres: tracker, Writer: asof.Tracked, MaxEvents: 10})
	server := served(t, site)
	const name, at = `<span class="exc">past_too_large</span>`, "as_of=2026-11-21T10%3A30%3A00Z"
	says(t, server, "/?as_of=30m", 422, name, "more than the 10 that are read here", `<form class="along" action="/t/"`, `href="/t/centres/H?`+at+`"><bdi>H</bdi>`, "tributary status --as-of 2026-11-21T10:30:00Z</code>", "Back to now")
	says(t, server, "/files?status=failed&as_of=30m", 422, name, `href="/t/files?`+at+`&amp;centre=H&amp;status=failed"><bdi>H</bdi>`, `href="/t/files?`+at+`&amp;source=harwell&amp;status=failed"><bdi>harwell</bdi>`,
		"tributary files --status failed --sort newest --as-of 2026-11-21T10:30:00Z")
	says(t, server, "/sources?as_of=30m", 422, name, `href="/t/sources/harwell?`+at)
	says(t, server, "/sessions/1?as_of=30m", 422, name, "!as it stood then")
	says(t, server, "/diff?from=1h&to=30m", 422, name, `<a class="btn small" href="/t/diff?centre=H&amp;from=1h&amp;to=30m"><bdi>H</bdi>`, "tributary diff --from 2026-11-21T10:00:00Z --to 2026-11-21T10:30:00Z</code>")
	says(t, server, "/files/add/"+reporttest.BrokenZip+"?as_of=30m", 200, "As of 21 Nov 2026, 10:30:00 UTC")
	says(t, open(t), "/files?status=failed&as_of=2026-11-21", 404, "before_history", `<a href="/t/files?as_of=2026-11-21T10%3A00%3A00Z&amp;status=failed">To the first moment`)
}
