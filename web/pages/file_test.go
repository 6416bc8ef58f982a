package pages_test

import (
	"net/url"
	"strings"
	"testing"

	"tributary/queries/report/reporttest"
)

func TestFile(t *testing.T) {
	server := open(t)
	const good = "/files/add/" + reporttest.GoodZip
	says(t, server, good, 200,
		`<a href="#errors">1 of 2 documents failed; the others are in the warehouse.</a>`,
		`<li class="failed here"><b>xsd</b>`, `<span>1 of 2</span>`, `<li class="done"><b>overview</b>`, `<span>by people</span>`,
		"2 errors</span>", `href="/t`+good+`/documents/H.2012-10-02.1.experiment.impc.xml"`, "line 3, column 7", "<bdi>no id</bdi>",
		`<path class="f-failed" d="M19.0 0l6 6-6 6-6-6z"/>`, `<rect class="f-done" x="68.0"`, `<rect class="f-none" x="81.5"`,
		"Attempt 1 from harwell failed at download:</bdi> <span class=\"exc\"><bdi>truncated</bdi></span><small><bdi>40 of 120 bytes", "Attempt 2 from harwell brought 120 bytes, of which attempts before brought 40", "<dd class=\"mono\"><bdi>GET https://h/out/add/"+reporttest.GoodZip+"; Authorization: (not kept)</bdi>", "Answered</dt><dd class=\"mono\"><bdi>HTTP/1.1 206 Partial Content; Content-Range: bytes 40-119/120</bdi>", "Unzipped: 2 documents",
		"<h3>Version 1</h3>", "· current", ">aa11</bdi>", `href="/t/sessions/1">1</a>`, `href="/t/sources/ics"`, "gone</td>", "<dt>title</dt><dd><bdi>Mice of ics</bdi></dd>", "tributary show add/"+reporttest.GoodZip, `data-local>21 Nov 2026, 10:00:16 UTC</time></dd>`,
		`aria-current="page">Files`, `<a class="crumb" href="/t/files">Files</a>`, "!<h3>Since then")
	says(t, server, good+"?events=all", 200, "<caption class=\"vh\">All events</caption>", "<td>reported</td>", "<bdi>HTTP/1.1 200 OK; Content-Length: 120</bdi></dd></dl></details></td><td>reported</td>", "!<h3>Version 1</h3>", `?events=all" aria-current="true"`)
	says(t, server, "/files/add/"+reporttest.BrokenZip, 200, "It failed at unzip: corrupted_at_producer.", "<h4>What that means</h4>", "<h4>What to do</h4>", "<bdi>bad CRC on both hostings</bdi>",
		`<h4>Whose move</h4><p><a href="/t/centres/H"><bdi>H corrects it and sends it again</bdi></a>.</p>`, `<h4>How often</h4><p><a href="/t/files?exception=corrupted_at_producer&amp;status=failed"><bdi>1 file stands failed with it</bdi></a>.</p>`, "<h3>No version yet</h3>", "!documents failed")
	says(t, server, "/files/add/H.2012-10-09.01.impc.zip", 200, "It is on the way: waits to be fetched.", "Seen at harwell, 120 bytes")
	says(t, server, "/files/add/"+reporttest.BadZip, 200, "It failed at zip_name: name_pattern.", "none in its name", "Nothing has happened to it but that its name was looked at.")
	for _, none := range []string{"/files/edit/" + reporttest.GoodZip, "/files/add/nothing", "/files/other/x", "/files/add/%00", good + "/documents/nothing.xml", good + "/documents/%FF", "/files/add"} {
		says(t, server, none, 404, "There is nothing here.")
	}
}

func TestDocument(t *testing.T) {
	server := open(t)
	const good = "/files/add/" + reporttest.GoodZip
	says(t, server, good+"/documents/H.2012-10-02.1.experiment.impc.xml", 200, "It failed at xsd, with 2 errors.", "2 in all", "line 3, column 7", "line 9, column 2", "not\none of them", `<li class="failed here"><b>xsd</b>`,
		`href="/t`+good+`"`, `aria-current="page">Documents`, "!line 3</span>")
	says(t, server, good+"/documents/H.2012-10-02.1.specimen.impc.xml", 200, "It is in the warehouse.", "Nothing is known to be wrong with it.", `<li class="done here"><b>overview</b>`, `<li class="pending"><b>qc</b>`)
}

// A file and a document whose names mean harm have pages, to which lists lead.
func TestPagesOfHostileNames(t *testing.T) {
	server := openHostile(t)
	body := says(t, server, "/files?action=edit", 200)
	file := strings.TrimPrefix(shows(t, body, `<span class="muted">edit/</span><a href="([^"]+)"`), "/t")
	says(t, server, file, 200, "!<script>", "!<img", "!<svg onload", "!\u202e", "&lt;script&gt;alert(2)&lt;/script&gt;{{.}}", "3 errors, of which the first are shown", "Asked</dt><dd class=\"mono\"><bdi>&lt;/p&gt;&lt;script&gt;", "!"+strings.Repeat("&lt;b&gt;", 700), "(15000 bytes)</bdi>")
	says(t, server, file+"?events=all", 200, "!<script>", "!<img", "!<svg onload")
	body = says(t, server, "/documents?action=edit", 200)
	document := strings.TrimPrefix(shows(t, body, `class="mono nowrap wide cut"><a href="([^"]+)"`), "/t")
	if !strings.HasPrefix(document, file+"/documents/") || strings.Contains(document, "..") && !strings.Contains(document, "%2F..%2F") {
		t.Errorf("the document's address is %s", document)
	}
	says(t, server, document, 200, "!<script>", "!<img", "!\u2066", "1 of them counted only", strings.Repeat("long ", 100))
	if _, err := url.Parse(document); err != nil {
		t.Error(err)
	}
}
