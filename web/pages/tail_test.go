package pages_test

import (
	"strings"
	"testing"

	"tributary/queries/report/reporttest"
	"tributary/web/pages/pagestest"
)

// The events that happened last are listed, as far as they pass the filters.
func TestTail(t *testing.T) {
	s := pagestest.Site(t, reporttest.Filled(t))
	server := served(t, s)
	const invalid, broken = ">H.2012-10-02.1.experiment.impc.xml</bdi></a>", "<bdi>bad CRC on both hostings</bdi>"
	body := says(t, server, "/tail", 200, invalid, broken, `<a href="/t/files/add/`+reporttest.GoodZip+`">`, `<a href="/t/files/add/`+reporttest.GoodZip+`/documents/H.2012-10-02.1.experiment.impc.xml">`,
		`href="/t/tail?centre=H"`, `href="/t/tail?source=harwell"`, `<time datetime="2026-11-21T10:00:15Z" title="21 Nov 2026, 10:00:15 UTC">59 min ago</time>`, "xsd</span> <b>failed</b>", `aria-current="page">Events`,
		"tributary report latest --since 1d", `<a href="/t/tail?since=1d" aria-current="true">1d</a>`, "!older ones are left out")
	if newer, older := strings.Index(body, broken), strings.Index(body, invalid); newer > older {
		t.Error("the newest is not first")
	}
	says(t, server, "/tail?status=failed&phase=xsd", 200, invalid, "!"+broken, "<option selected>xsd</option>", "<option selected>failed</option>", "--phase xsd --status failed --since 1d", `href="/t/tail?phase=xsd&amp;since=7d&amp;status=failed"`)
	says(t, server, "/tail?file=10-03", 200, broken, "!"+invalid)
	says(t, server, "/tail?exception=xsd_invalid&centre=h&source=harwell&since=2h", 200, invalid, "!"+broken)
	says(t, server, "/tail?since=1m", 200, "Nothing of the kind happened in this time.")
	says(t, server, "/tail?since=soon", 200, "It can't be told:", "!<table")
	says(t, server, "/tail?centre=Nowhere", 200, "It can't be told:", "known are")
	says(t, server, "/tail?file=%3Cscript%3Ealert(1)%3C/script%3E'%5C", 200, "Nothing of the kind", "!<script>alert")
	for _, bad := range []string{"file=%00", "file=%ff", "source=%E2%80%AE", "file=" + strings.Repeat("x", 2000)} {
		says(t, server, "/tail?"+bad, 400, "This address can&#39;t be read.")
	}
	s.History = nil
	says(t, served(t, s), "/tail", 200, "doesn&#39;t reach the history")
}
