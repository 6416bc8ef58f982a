//go:build !race

package http_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// pageOf answers with a page of n entries.
func pageOf(n, status int, kind, head, tail string, entry func(i int) string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, head)
		for i := range n {
			_, _ = io.WriteString(w, entry(i))
		}
		_, _ = io.WriteString(w, tail)
	}
}

// However many entries are listed, by generated answers, few are held.
func TestListsAnyNumber(t *testing.T) {
	n := remotetest.HowMany()
	indexed := max(n, 120_000) // more than may be kept to be asked for
	t.Run("as nginx writes indexes", func(t *testing.T) {
		site := remotetest.NewSite(t, pageOf(indexed, 200, "text/html", "<html><head><title>Index of /add/</title></head><body><h1>Index of /add/</h1><hr><pre><a href=\"../\">../</a>\r\n", "</pre><hr></body></html>",
			func(i int) string {
				name := remotetest.Nth(i)
				return fmt.Sprintf("<a href=\"%s\">%s</a>          29-Feb-2024 12:00                   5\r\n", name, name)
			}))
		remotetest.Lists(t, remote.Config{URL: site.URL, IgnoreRobots: true}, indexed, 5)
	})
	t.Run("webdav", func(t *testing.T) {
		site := remotetest.NewSite(t, pageOf(n, 207, "application/xml", strings.TrimSuffix(davOf(""), "</D:multistatus>"), "</D:multistatus>", func(i int) string {
			return "<D:response><D:href>/add/" + remotetest.Nth(i) + "</D:href><D:propstat><D:prop><D:resourcetype/><D:getcontentlength>5</D:getcontentlength><D:getlastmodified>Thu, 29 Feb 2024 12:00:00 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
		}))
		remotetest.Lists(t, remote.Config{URL: site.URL, IgnoreRobots: true, WebDAV: true}, n, 5)
	})
}

// An index of very many links is listed within little memory, and of files whose
// sizes it doesn't say it ends where they would take too much.
func TestHTTPManyLinks(t *testing.T) {
	const n = 100_000
	for ext, want := range map[string]string{"xml": "", "zip": "listing_too_long"} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for i := range n {
				fmt.Fprintf(w, "<a href=\"%s%06d.%s\">x</a>\n", strings.Repeat("n", 100), i, ext)
			}
		})
		session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
		count := 0
		err := session.List(t.Context(), "add", func(remote.Entry) error { count++; return nil })
		if remote.Exception(err) != want || ext == "xml" && count != n || ext == "zip" && count != 0 {
			t.Errorf("%s: %d entries, %v (%s), want %q", ext, count, err, remote.Exception(err), want)
		}
		if asked := s.Asked(); len(asked) != 1 {
			t.Errorf("%s: %d requests", ext, len(asked))
		}
	}
}

// Hundreds of thousands of links that scripts follow cost nothing but time, whatever
// charset the page claims; what scripts write is not there.
func TestHTTPLinksOfScripts(t *testing.T) {
	const many = 300_000
	s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=klingon")
		_, _ = io.WriteString(w, "<title>Index of /add</title><script>document.write('<a href=\"evil.txt\">')</script>")
		for i := range many {
			_, _ = fmt.Fprintf(w, "<a href=\"%d.txt\">x</a><a href=\"javascript:open(%d)\">y</a><a href=\"data:text/html,%d\">z</a>\n", i, i, i)
		}
	})
	session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
	n := 0
	if err := session.List(t.Context(), "add", func(e remote.Entry) error {
		if e.Kind != remote.File || e.Name != fmt.Sprint(n)+".txt" {
			t.Fatalf("entry %d is %+v", n, e)
		}
		n++
		return nil
	}); err != nil || n != many {
		t.Errorf("%d entries, %v", n, err)
	}
}
