package http_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

const davHead = "HTTP/1.1 207 Multi-Status\nContent-Type: application/xml\n"

// davOf is an answer about the directory /add/, and what is in it.
func davOf(responses string) string {
	return `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>/add/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>` + responses + `</D:multistatus>`
}

// Whatever forms servers write, an entry is what stands in the very directory, with
// the properties that the server says it has.
func TestWebDAVReadsProperties(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)
	var asked []string
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != "PROPFIND" || !strings.Contains(string(body), "getcontentlength") {
			t.Errorf("asked %s, %v: %s", r.Method, err, body)
		}
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Depth"))
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = io.WriteString(w, davOf(fmt.Sprintf(`
<D:response><D:href>/add/a%%20b.zip</D:href><D:propstat><D:prop><D:getcontentlength>5</D:getcontentlength><D:getlastmodified>Thu, 29 Feb 2024 23:59:58 GMT</D:getlastmodified><D:resourcetype/></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
<D:response><D:href>http://%s/add/c&amp;d.zip</D:href><D:propstat><D:prop><x:getcontentlength xmlns:x="DAV:"> 7 </x:getcontentlength><getcontentlength>8</getcontentlength></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop><D:getcontentlength>9</D:getcontentlength></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>
<D:response><D:href>/add/sub/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
<D:response><D:href>/add/secret.zip</D:href><D:status>HTTP/1.1 403 Forbidden</D:status></D:response>
<D:response><D:href>/add/sub/deep.zip</D:href></D:response><D:response><D:href>/edit/e.zip</D:href></D:response><D:response><D:href>http://other.example/add/f.zip</D:href></D:response><D:response><D:href>/add/..%%2fg.zip</D:href></D:response>
<D:response><D:href>/add/odd.zip</D:href><D:propstat><D:prop><D:getcontentlength>many</D:getcontentlength><D:getlastmodified>soon</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`, r.Host)))
	})
	session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true, WebDAV: true})
	var got []remote.Entry
	err := session.List(t.Context(), "add", func(e remote.Entry) error { got = append(got, e); return nil })
	want := []remote.Entry{
		{Name: "a b.zip", Size: 5, ModTime: at, Precision: time.Second}, {Name: "c&d.zip", Size: 7}, {Name: "sub", Size: -1, Kind: remote.Dir},
		{Name: "secret.zip", Size: -1, Kind: remote.Other}, {Name: "../g.zip", Size: -1, Kind: remote.Other}, {Name: "odd.zip", Size: -1},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("listing, %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"/add/ 1"}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}
