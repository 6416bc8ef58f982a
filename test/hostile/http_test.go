package hostile

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
)

// stepsHTTP are those that every conversation of a poll and a transfer comes by.
var stepsHTTP = []string{"robots", "login", "index", "head", "file"}

// The ways to see what an HTTP server has; empty: its index pages.
const (
	byFeed = "feed"
	byDAV  = "dav"
)

// talkHTTP is a conversation with an HTTP server that knows one directory, add, with
// one file.
func talkHTTP(s *server) func(net.Conn) { return s.talk(s.respond) }

// talk is a conversation of requests, of which respond gives the good answer and the step.
func (s *server) talk(respond func(*http.Request) (step string, well []byte)) func(net.Conn) {
	return func(c net.Conn) {
		w, in := s.wire(c, c, nil), bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			step, well := respond(r)
			if s.at(step, w, well) != nil {
				return
			}
		}
	}
}

// respond is what a good server answers, and at which step that is.
func (s *server) respond(r *http.Request) (step string, well []byte) {
	name, listing := "/add/"+s.file, "/add/"
	if s.http == byFeed {
		listing = "/feed.xml"
	}
	switch dir := path.Dir(r.URL.Path) + "/"; {
	case r.URL.Path == "/robots.txt":
		return "robots", whole("404 Not Found", "text/plain", "none")
	case r.Method == http.MethodHead && r.URL.Path == "/":
		return "login", []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
	case r.URL.Path == listing:
		return "index", s.index()
	case r.URL.Path == name && r.Method == http.MethodGet:
		return "file", whole("200 OK", "application/zip", string(s.zip))
	case r.URL.Path == name && s.http == byDAV:
		return "head", multistatus(s.davFile())
	case r.URL.Path == name:
		head, _, _ := strings.Cut(string(whole("200 OK", "application/zip", "")), "\r\nContent-Length")
		return "head", fmt.Appendf(nil, "%s\r\nContent-Length: %d\r\n\r\n", head, s.claimed())
	case r.Method == http.MethodHead && dir == "/add/":
		return "refused", []byte("HTTP/1.1 404 Not Found\r\n\r\n")
	}
	return "refused", whole("404 Not Found", "text/html", "nothing here")
}

// index shows the one file.
func (s *server) index() []byte {
	switch s.http {
	case byFeed:
		return whole("200 OK", "application/rss+xml", "<rss><channel><item><enclosure url='add/"+s.file+"' length='5'/></item></channel></rss>")
	case byDAV:
		return multistatus(davDir + s.davFile())
	}
	return whole("200 OK", "text/html", indexBegin+row(s.file, "2024-01-01 00:00", "5")+indexEnd)
}

const (
	indexBegin = "<html><title>Index of /add</title><pre>"
	indexEnd   = "</pre></html>"
	davBegin   = `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">`
	davDir     = "<D:response><D:href>/add/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
)

// row is a line of an index page, as its server writes it.
func row(href, time, size string) string {
	return "<a href=\"" + href + "\">x</a> " + time + " " + size + "\n"
}

func (s *server) davFile() string {
	return davOf("/add/"+s.file, fmt.Sprint(s.claimed()), "Mon, 01 Jan 2024 00:00:00 GMT")
}

func davOf(href, size, time string) string {
	return "<D:response><D:href>" + href + "</D:href><D:propstat><D:prop><D:getcontentlength>" + size + "</D:getcontentlength><D:getlastmodified>" + time + "</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
}

func multistatus(responses string) []byte {
	return whole("207 Multi-Status", "application/xml", davBegin+responses+"</D:multistatus>")
}

// whole is an answer that says how long it is.
func whole(status, kind, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: %s\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body)
}
