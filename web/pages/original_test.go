package pages_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"tributary/queries/original"
	"tributary/queries/original/originaltest"
	"tributary/queries/report/reporttest"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// invalidXML is a document of the story, and hostile where its errors are.
const invalidXML = "<set>\n  <one/>\n  <x a=\"\u202e</pre><script>alert(1)</script>\">\n</set>\n\n\n\n<tail>\n\t<b>{{.}}</b>\n"

// stored is a site of the story with its good file in a blob store, and that file. The
// tracker has the documents' sha256, or tracked, if that is given.
func stored(t *testing.T, tracked string) (pages.Site, *originals) {
	t.Helper()
	entries := []originaltest.Entry{{Name: "H.2012-10-02.1.specimen.impc.xml", Text: "<fine/>"}, {Name: "H.2012-10-02.1.experiment.impc.xml", Text: invalidXML}}
	store, name := originaltest.Store(t, entries...)
	events := reporttest.Story()
	for i := range events {
		e := &events[i]
		if e.SHA256 == "aa11" {
			e.SHA256 = name
		}
		if len(e.Errors) > 0 {
			e.Errors[0].Exception, e.Errors[0].Message = "xsd_invalid", "/set/tail: the text \"must be a date\" is not allowed here"
		}
		for ordinal, entry := range entries {
			if e.Entry == entry.Name {
				e.Ordinal, e.SHA256, e.Size = int32(ordinal), entry.SHA256(), int64(len(entry.Text))
				if tracked != "" {
					e.SHA256 = tracked
				}
			}
		}
	}
	s := pagestest.Site(t, reporttest.Told(t, events))
	s.Originals = &original.Reader{Blobs: store}
	return s, &originals{filepath.Join(store.Path(), name[:2], name), name, originaltest.Packed(t, entries...)}
}

// originals is a stored file.
type originals struct {
	path, name string
	content    []byte
}

// damage changes its last document's first byte.
func (o *originals) damage(t *testing.T) {
	t.Helper()
	content := append([]byte(nil), o.content...)
	content[strings.LastIndex(string(content[:len(content)/2]), ".impc.xml")+12] ^= 1
	if err := errors.Join(os.Chmod(o.path, 0o600), os.WriteFile(o.path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

const (
	goodFile    = "/files/add/" + reporttest.GoodZip
	invalidPage = goodFile + "/documents/H.2012-10-02.1.experiment.impc.xml"
)

// The lines around an error are there, the place marked, and what they say does no harm.
func TestExcerpt(t *testing.T) {
	s, _ := stored(t, "")
	server := served(t, s)
	for _, page := range []string{goodFile, invalidPage} {
		says(t, server, page, 200, `<i>2</i><bdi>  &lt;one/&gt;</bdi></span><span class="hit"><i>3</i><bdi>  &lt;x a<b class="at">=</b>&#34;⟨U&#43;202E⟩&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&gt;</bdi></span>`,
			`<span class="hit"><i>9</i><bdi>	<b class="at">&lt;b&gt;</b>{{.}}&lt;/b&gt;</bdi></span></pre>`, `, around line 3, column 7"`, `aria-label="Lines 6 to 9`,
			"<h4>The rule, in plain words</h4><p>This element contains elements: between these there may be blanks and new lines, and no text.</p>", "!What that means", "!<script>", "!\u202e", "!are not shown", "!as it was received")
	}
}

// Where the lines can't be read, the page says why, once, and has all the rest.
func TestExcerptLost(t *testing.T) {
	for name, x := range map[string]struct {
		tracked string
		lose    func(t *testing.T, s *pages.Site, o *originals)
		says    string
	}{
		"gone":        {"", func(t *testing.T, _ *pages.Site, o *originals) { t.Helper(); remove(t, o.path) }, "Its bytes are not in the blob store any more."},
		"damaged":     {"", func(t *testing.T, _ *pages.Site, o *originals) { t.Helper(); o.damage(t) }, "Its stored bytes are not those that were received"},
		"another":     {strings.Repeat("0", 64), func(*testing.T, *pages.Site, *originals) {}, "Its stored bytes are not those that were received"},
		"not at hand": {"", func(_ *testing.T, s *pages.Site, _ *originals) { s.Originals = nil }, "no id"},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := stored(t, x.tracked)
			x.lose(t, &s, o)
			body := says(t, served(t, s), invalidPage, 200, x.says, "line 3, column 7", "2 in all", "!<pre")
			if n := strings.Count(body, x.says); n != 1 {
				t.Errorf("it is said %d times", n)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// servedTo serves a site to people of a role.
func servedTo(t *testing.T, s pages.Site, role access.Role) *httptest.Server {
	t.Helper()
	site, err := pages.New(s)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: "will", Role: role}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)
	return server
}

// Who may has the bytes as they were received, as a file that no browser shows; others
// have neither it nor the link.
func TestOriginal(t *testing.T) {
	s, o := stored(t, "")
	const file, document = goodFile + "/original", goodFile + "/original/H.2012-10-02.1.experiment.impc.xml"
	server := servedTo(t, s, access.Wrangler)
	says(t, server, goodFile, 200, `<a href="/t`+file+`" download>`)
	says(t, server, invalidPage, 200, `<a href="/t`+document+`" download>`)
	for path, want := range map[string]struct{ name, text string }{
		file:                        {reporttest.GoodZip, string(o.content)},
		file + "?version=" + o.name: {reporttest.GoodZip, string(o.content)},
		document:                    {"H.2012-10-02.1.experiment.impc.xml", invalidXML},
		goodFile + "/original/H.2012-10-02.1.specimen.impc.xml": {"H.2012-10-02.1.specimen.impc.xml", "<fine/>"},
	} {
		answer, err := http.Get(server.URL + "/t" + path) //nolint:noctx // the test's own server
		if err != nil {
			t.Fatal(err)
		}
		h := answer.Header
		if body := read(t, answer); answer.StatusCode != 200 || body != want.text || answer.ContentLength != int64(len(want.text)) {
			t.Errorf("%s: %d, %d of %d bytes", path, answer.StatusCode, len(body), answer.ContentLength)
		}
		if h.Get("Content-Disposition") != "attachment; filename="+want.name || h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") != "application/octet-stream" || h.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: %v", path, h)
		}
	}
	for _, none := range []string{file + "?version=" + strings.Repeat("0", 64), "/files/add/nothing/original", "/files/edit/" + reporttest.GoodZip + "/original", file + "/nothing.xml", file + "/..%2f..%2fetc%2fpasswd", "/files/add/" + reporttest.BadZip + "/original", "/files/add/%00/original"} {
		says(t, server, none, 404, "There is nothing here.")
	}
	for _, path := range []string{file, document} {
		if status, body := get(t, servedTo(t, s, access.Reader), path); status != 403 || body != "" {
			t.Errorf("a reader has %s: %d %q", path, status, body)
		}
	}
	says(t, servedTo(t, s, access.Reader), goodFile, 200, "!/original")
}

// What is damaged is never had whole, and what is gone is told in words.
func TestOriginalLost(t *testing.T) {
	s, o := stored(t, "")
	server := servedTo(t, s, access.Operator)
	o.damage(t)
	for _, path := range []string{goodFile + "/original", goodFile + "/original/H.2012-10-02.1.experiment.impc.xml"} {
		answer, err := http.Get(server.URL + "/t" + path) //nolint:noctx // the test's own server
		if err != nil {
			continue // it ended before its header was sent
		}
		content, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode == 200 {
			t.Errorf("%s: %d bytes that are not the right ones", path, len(content))
		}
	}
	remove(t, o.path)
	says(t, server, goodFile+"/original", 404, "This can&#39;t be handed out.", "Its bytes are not in the blob store any more.")
	s.Originals = nil
	says(t, servedTo(t, s, access.Operator), goodFile+"/original", 503, "This can&#39;t be read here.")
}
