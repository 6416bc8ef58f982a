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
