package pages_test

import (
	"html"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"tributary/queries/report/reporttest"
	"tributary/web/pages/pagestest"
)

// openHostile serves the pages of the hostile story below /t.
func openHostile(t *testing.T) *httptest.Server {
	t.Helper()
	return served(t, pagestest.Site(t, reporttest.Told(t, reporttest.Hostile())))
}

// says expects a page with some parts, and without others (which begin with !).
func says(t *testing.T, server *httptest.Server, path string, want int, parts ...string) string {
	t.Helper()
	status, body := get(t, server, path)
	if status != want {
		t.Errorf("%s: %d, want %d", path, status, want)
	}
	for _, part := range parts {
		part, without := strings.CutPrefix(part, "!")
		if strings.Contains(body, part) == without {
			t.Errorf("%s: %q is there: %v\n%.8000s", path, part, without, body[max(0, strings.Index(body, "<main")):])
		}
	}
	return body
}

// shows is the value of the first match's group in a page, without its escapes.
func shows(t *testing.T, body, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, body)
	}
	return html.UnescapeString(m[1])
}

func TestFiles(t *testing.T) {
	server := open(t)
	const good, waits = ">H.2012-10-02.01.impc.zip</bdi>", ">H.2012-10-09.01.impc.zip</bdi>"
	says(t, server, "/files", 200, `<h2 id="h-list">4 files</h2>`, good, waits, `aria-current="page">Files`, `href="/t/files/add/H.2012-10-02.01.impc.zip"`, `tributary files --sort newest`,
		`href="/t/centres/H"`, `href="/t/sources/harwell"`, `href="/t/files?exception=xsd_invalid"`, "<bdi>no id</bdi>", "120 bytes", "59 min",
		`<b>failed</b></span></span><span class="n">3</span>`, "!Next page")
	says(t, server, "/files?status=failed&phase=xsd", 200, `<h2 id="h-list">1 file</h2>`, good, "!"+waits, `<span class="muted">status</span> <bdi>failed</bdi></span><a href="/t/files?phase=xsd"`,
		`<input type="hidden" name="phase" value="xsd">`, "tributary files --status failed --phase xsd --sort newest", `<a href="/t/files?phase=xsd" aria-current="true">`)
	says(t, server, "/files?status=failed", 200, `<a href="/t/files?exception=xsd_invalid&amp;status=failed"><span><bdi>xsd_invalid</bdi></span><span class="n">1</span></a>`, `<h2>exception</h2>`)
	says(t, server, "/files?status=failed&exception=xsd_invalid&phase=xsd", 200, `<a href="/t/files?phase=xsd&amp;status=failed" aria-current="true"><span><bdi>xsd_invalid</bdi></span></a>`)
	says(t, server, "/files?status=done", 200, "!<h2>exception</h2>")
	if body := says(t, server, "/files?sort=oldest", 200, "tributary files --sort oldest", `aria-current="true">Oldest</a>`); strings.Index(body, good) > strings.Index(body, waits) {
		t.Error("the oldest is not the first")
	}
	says(t, server, "/files?q=10-09", 200, waits, "!"+good, `value="10-09"`, "tributary files --q 10-09", `<h2 id="h-list">Files</h2>`)
	says(t, server, "/files?q=H.2012*01*", 200, waits, good, "tributary files &#39;H.2012*01*&#39; --sort newest", "!--q")
	says(t, server, "/files?waiting=true", 200, waits, "!"+good)
	says(t, server, "/files?q=nothing", 200, "None has this in the file&#39;s name.")
	says(t, server, "/files?status=cancelled", 200, "There is none of this kind.")
	says(t, server, "/files?status=cancelled&action=edit", 200, "None passes all of these filters")
	says(t, server, "/files?centre=Nowhere", 404, "known are H")
	for _, bad := range []string{"phase=x", "status=late", "since=soon", "sha256=xyz", "after=x", "sort=size", "waiting=perhaps", "session=x", "q=%00", "q=%ff"} {
		name, _, _ := strings.Cut(bad, "=")
		says(t, server, "/files?"+bad, 400, "This address can&#39;t be read.", name+" ")
	}
}

// Pages lead from one to the next, whichever the order, and each file is on one.
func TestPagesOfFiles(t *testing.T) {
	server := openHostile(t)
	row := regexp.MustCompile(`scope="row"[^>]*><span class="muted">\w+/</span><a href="([^"]+)"`)
	for _, path := range []string{"/files", "/files?sort=name", "/files?centre=H"} {
		seen, at := map[string]bool{}, path
		for n := 0; at != ""; n++ {
			if n > 5 {
				t.Fatalf("%s does not end", path)
			}
			body := says(t, server, at, 200)
			for _, m := range row.FindAllStringSubmatch(body, -1) {
				if seen[m[1]] {
					t.Errorf("%s: %s is there twice", path, m[1])
				}
				seen[m[1]] = true
			}
			at = ""
			if strings.Contains(body, "Next page") {
				at = strings.TrimPrefix(shows(t, body, `href="([^"]+)" rel="next"`), "/t")
			}
		}
		want := 75
		if strings.Contains(path, "centre") {
			want = 74 // one name tells none
		}
		if len(seen) != want {
			t.Errorf("%s: %d files, want %d", path, len(seen), want)
		}
	}
}

// Names and messages that mean harm are text, wherever they are shown.
func TestHostileNames(t *testing.T) {
	server := openHostile(t)
	harmless := func(path string) string {
		t.Helper()
		return says(t, server, path, 200, "!<script>", "!<img", "!<svg onload", "!\u202e", "!\u2066", "!javascript:alert(1)", "!"+strings.Repeat("long ", 400))
	}
	body := harmless("/files?action=edit")
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;\ufffdgnp", "/t/sources/%22%3E%3Csvg%20onload=alert%281%29%3E"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	harmless("/documents?action=edit")
	// What somebody asks for is in the field where they change it as they wrote it.
	_, body = get(t, server, "/files?q=%3Cscript%3E%E2%80%AE")
	if body = strings.Replace(body, "value=\"&lt;script&gt;\u202e\"", "", 3); strings.Contains(body, "<script>") || strings.Contains(body, "\u202e") || !strings.Contains(html.UnescapeString(body), "--q '<script>⟨U+202E⟩'</code>") {
		t.Errorf("a hostile question:\n%s", body)
	}
	says(t, server, "/files?phase=%3Cscript%3E%E2%80%AE", 400, "!<script>", "!\u202e")
}
