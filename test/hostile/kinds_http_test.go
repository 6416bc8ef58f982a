package hostile

import (
	"bytes"
	"fmt"
	"strings"
)

// opening is an answer whose end is the connection's.
func opening(kind, text string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\nConnection: close\r\n\r\n" + text
}

// pageOf sends an index page, a feed or an answer of WebDAV that is whole.
func pageOf(kind string, bodies ...string) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error {
		status := "200 OK"
		if strings.Contains(kind, "/xml") {
			status = "207 Multi-Status"
		}
		_, err := w.Write(whole(status, kind, anyOf(w, bodies...)))
		return err
	}
}

func statuses(texts ...string) func(*wire, []byte) error {
	for i, t := range texts {
		texts[i] = "HTTP/1.1 " + t + "\r\nContent-Length: 0\r\n\r\n"
	}
	return instead(texts...)
}

// httpNames are hrefs, percent-encoded where a server would, of names that break
// things.
func httpNames(w *wire, line func(href string) string) string {
	var b strings.Builder
	for _, n := range badNames(w.s.seed) {
		var href strings.Builder
		for _, c := range []byte(n) {
			fmt.Fprintf(&href, "%%%02X", c)
		}
		b.WriteString(line(href.String()))
	}
	return b.String()
}

// httpKinds are the ways of HTTP servers, those with feeds and WebDAV among them.
func httpKinds() []kind {
	c := stepsHTTP
	index := []string{"index"}
	file := []string{"file"}
	long := strings.Repeat("A", 200_000)
	return []kind{
		{name: "http-head-endless", steps: c, strike: after("HTTP/1.1 200 OK\r\n", "X-Filler: y\r\n")},
		{name: "http-head-endless-line", steps: c, strike: after("HTTP/1.1 200 OK\r\nX: ", "A")},
		{name: "http-head-huge", steps: c, strike: instead("HTTP/1.1 200 OK\r\nX: "+long+"\r\n\r\n", "HTTP/1.1 200 "+long+"\r\n\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie: a="+long+"\r\n\r\n")},
		{name: "http-head-drips", steps: c, strike: slowly},
		{name: "http-head-odd", steps: c, strike: instead("HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 -1 OK\r\n\r\n", "HTTP/1.1 99999999999 x\r\n\r\n", "\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nX\x00Y: z\r\n\r\n")},
		{name: "http-text", steps: c, strike: statuses("500 "+nasty, "404 "+nasty, "200 OK\r\nContent-Type: "+nasty, "302 Found\r\nLocation: http://"+nasty, "200 OK\r\nETag: \""+nasty+"\"")},
		{name: "http-status", steps: c, strike: statuses("100 Continue", "101 Switching Protocols", "199 x", "201 Created", "204 No Content", "205 x", "206 Partial Content", "207 Multi-Status", "300 x", "304 Not Modified", "305 Use Proxy", "400 x", "401 x", "402 x", "403 x", "407 x", "409 x", "416 x", "418 x", "421 x", "451 x", "500 x", "501 x", "505 x", "599 x", "600 x", "999 x")},
		{name: "http-preludes", steps: c, strike: endless("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")},
		{name: "http-busy", steps: c, strike: statuses("503 x\r\nRetry-After: 99999999999999999999", "429 x\r\nRetry-After: -5", "503 x\r\nRetry-After: soon", "429 x\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT", "503 x\r\nRetry-After: 1")},
		{name: "http-redirect-loop", steps: c, strike: statuses("302 Found\r\nLocation: ?again=1", "301 x\r\nLocation: /robots.txt", "308 x\r\nLocation: .", "307 x\r\nLocation: ////")},
		{name: "http-redirect-elsewhere", steps: c, strike: statuses("302 x\r\nLocation: file:///etc/passwd", "302 x\r\nLocation: gopher://127.0.0.1:1/x", "302 x\r\nLocation: javascript:alert(1)", "302 x\r\nLocation: http://127.0.0.1:1/", "302 x\r\nLocation: http://[::1]:1/", "302 x\r\nLocation: https://127.0.0.1:1/", "302 x\r\nLocation: http://u:p@127.0.0.1:1/", "302 x\r\nLocation: http://127.0.0.1:99999/", "302 x\r\nLocation: http:///", "302 x\r\nLocation: \x00", "302 x", "302 x\r\nLocation: "+long)},
		{name: "http-length-lies", steps: c, strike: instead("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
		{name: "http-chunks", steps: []string{"robots", "index", "file"}, strike: instead("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"+long+"\r\nx\r\n0\r\n\r\n")},
		{name: "http-trailers", steps: []string{"robots", "index", "file"}, strike: after("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\n", "X: y\r\n")},
		{name: "http-packed", steps: []string{"index", "file"}, strike: after("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n", "\x1f\x8b\x08\x00"), ends: []string{"transfer_failed"}},
		{name: "http-twice", steps: c, strike: twice},
		{name: "http-flood", steps: c, strike: flood},
		{name: "http-garbage", steps: c, strike: junk},
		{name: "http-cut", steps: c, strike: partly(cut)},
		{name: "http-half-close", steps: c, strike: partly(halfClose)},
		{name: "http-hang", steps: c, strike: hang},
		{name: "http-robots-endless", steps: []string{"robots"}, strike: after(opening("text/plain", "User-agent: *\n"), "Disallow: /\n"), ends: []string{"robots_forbidden"}},
		{name: "http-robots-odd", steps: []string{"robots"}, strike: pageOf("text/plain", "User-agent: *\nDisallow: "+strings.Repeat("*a", 100_000), "\xef\xbb\xbfUser-Agent: *\r\rDisallow: /\x00", strings.Repeat("User-agent: x\n", 30_000), "<html>"+nasty)},
		{name: "http-page-endless-links", steps: index, strike: after(opening("text/html", indexBegin), row("J.2022-01-01.1.impc.zip", "", "")), ends: []string{"listing_too_long", "poll_timed_out"}},
		{name: "http-page-endless-other-links", steps: index, strike: after(opening("text/html", indexBegin), "<a href='javascript:x()'>x</a><a href='//other.example/a.zip'>y</a><a href='?C=M'>z</a>")},
		{name: "http-page-endless-tag", steps: index, strike: after(opening("text/html", "<a href=\""), "x"), ends: []string{"no_index_page"}},
		{name: "http-page-endless-script", steps: index, strike: after(opening("text/html", "<script>"), "document.write('<a href=x.zip>')"), ends: []string{"no_index_page"}},
		{name: "http-page-endless-rows", steps: index, strike: after(opening("text/html", "<table>"), "<tr><td>")},
		{name: "http-page-cut", steps: index, strike: func(w *wire, _ []byte) error {
			if _, err := w.Write([]byte(opening("text/html", indexBegin+row(w.s.file, "", "")))); err != nil {
				return err
			}
			return w.cut()
		}, ends: []string{"connection_lost"}},
		{name: "http-page-of-others", steps: index, strike: pageOf("text/html", "<form action=/login><input type=password></form>", "", "<html><body><script src=app.js></script></body></html>", "<meta http-equiv=refresh content='0;url=http://127.0.0.1:1/'>", nasty), ends: []string{"no_index_page"}},
		{name: "http-page-types", steps: index, strike: func(w *wire, _ []byte) error {
			kind := anyOf(w, "", "text/html; charset=klingon", "text/html; charset=utf-16", "multipart/mixed; boundary=x", "application/octet-stream", "text/html;"+long, nasty)
			_, err := w.Write(whole("200 OK", kind, indexBegin+row(w.s.file, "2024-01-01 00:00", "5")+indexEnd))
			return err
		}},
		{name: "http-page-names", steps: index, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(whole("200 OK", "text/html", indexBegin+httpNames(w, func(href string) string { return row(href, "2024-01-01 00:00", "5") })+indexEnd))
			return err
		}},
		{name: "http-page-sizes-and-times", steps: index, strike: func(w *wire, _ []byte) error {
			var b strings.Builder
			for i, at := range []string{"2024-02-31 25:61", "0000-00-00 00:00", "99/99/9999 99:99 PM", "31-Feb-2024 10:00", "9999-Dec-31 23:59:60"} {
				for j, size := range []string{"99999999999999999999999", "-5", "1e9P", "0.0000001K", "999999999999P", strings.Repeat("9", 5000)} {
					b.WriteString(row(onJ(1+i, 100+j), at, size))
				}
			}
			_, err := w.Write(whole("200 OK", "text/html", indexBegin+b.String()+indexEnd))
			return err
		}},
		{name: "http-page-again-and-again", steps: index, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(whole("200 OK", "text/html", indexBegin+strings.Repeat(row(w.s.file, "2024-01-01 00:00", "5")+row(w.s.file, "2025-01-01 00:00", "6"), 2000)+indexEnd))
			return err
		}},
		{name: "http-json-endless", steps: index, strike: after(opening("application/json", "["), `{"name":"J.2022-01-01.1.impc.zip","type":"file","size":1},`)},
		{name: "http-json-endless-name", steps: index, strike: after(opening("application/json", `[{"name":"`), "x"), ends: []string{"no_index_page"}},
		{name: "http-json-deep", steps: index, strike: after(opening("application/json", "["), `{"a":[`), ends: []string{"no_index_page"}},
		{name: "http-json-odd", steps: index, strike: pageOf("application/json", "{}", "null", `[null]`, `[{"name":7}]`, `[{"name":"a.zip","type":"file","size":-1}]`, `[{"name":"a.zip","type":"file","size":1e999}]`, `[{"name":"`+"\xff"+`.zip","type":"file","size":1}]`, `[{"name":"../a.zip","type":"file","size":1,"mtime":"never"}] trailing`)},
		{name: "feed-entities", http: byFeed, steps: index, strike: pageOf("application/rss+xml", `<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]><rss><channel><item><link>&b;</link></item></channel></rss>`, `<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><rss><channel><item><link>&f;</link></item></channel></rss>`), ends: []string{"no_index_page"}},
		{name: "feed-endless-items", http: byFeed, steps: index, strike: after(opening("application/rss+xml", "<rss><channel>"), "<item><link>add/J.2022-01-01.1.impc.zip</link></item>")},
		{name: "feed-endless-item", http: byFeed, steps: index, strike: after(opening("application/rss+xml", "<rss><channel><item>"), "<link>add/x.zip</link>"), ends: []string{"no_index_page"}},
		{name: "feed-endless-text", http: byFeed, steps: index, strike: after(opening("application/rss+xml", "<rss><channel><title>"), "A"), ends: []string{"no_index_page"}},
		{name: "feed-endless-depth", http: byFeed, steps: index, strike: after(opening("application/rss+xml", "<rss>"), "<a>"), ends: []string{"no_index_page"}},
		{name: "feed-endless-attributes", http: byFeed, steps: index, strike: after(opening("application/rss+xml", "<rss "), "a='b' "), ends: []string{"no_index_page", "poll_timed_out"}},
		{name: "feed-charset", http: byFeed, steps: index, strike: pageOf("application/rss+xml", "<?xml version='1.0' encoding='klingon'?><rss/>", "<?xml version='1.0' encoding='utf-16'?><rss/>", "<?xml version='1.0' encoding='utf-8'?><rss>\xff\xfe</rss>", "\x00\x00\xfe\xff<rss/>"), ends: []string{"no_index_page", "connection_lost"}},
		{name: "feed-elsewhere", http: byFeed, steps: index, strike: pageOf("application/rss+xml", "<rss><channel><item><enclosure url='http://127.0.0.1:1/add/x.zip'/></item></channel></rss>", "<rss><channel><item><enclosure url='file:///add/x.zip'/></item></channel></rss>", "<rss><channel><item><link>//[::1]/add/x.zip</link></item></channel></rss>"), ends: []string{"no_index_page"}},
		{name: "feed-names", http: byFeed, steps: index, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(whole("200 OK", "application/atom+xml", "<feed>"+httpNames(w, func(href string) string { return "<entry><link href='add/" + href + "'/></entry>" })+"</feed>"))
			return err
		}},
		{name: "feed-lengths-and-times", http: byFeed, steps: index, strike: func(w *wire, _ []byte) error {
			of := anyOf(w, "<enclosure url='add/"+w.s.file+"' length='-5'/><pubDate>Fri, 99 Xyz 99999 99:99:99 GMT</pubDate>", "<enclosure url='add/"+w.s.file+"' length='99999999999999999999'/><pubDate>0001-01-01T00:00:00+99:99</pubDate>", "<enclosure url='add/"+w.s.file+"' length='9223372036854775807'/><pubDate>9999-12-31T23:59:59-14:00</pubDate>")
			_, err := w.Write(whole("200 OK", "application/rss+xml", "<rss><channel><item>"+of+"</item></channel></rss>"))
			return err
		}},
		{name: "dav-endless-entries", http: byDAV, steps: index, strike: after("HTTP/1.1 207 x\r\nContent-Type: text/xml\r\n\r\n"+davBegin+davDir, davOf("/add/J.2022-01-01.1.impc.zip", "1", ""))},
		{name: "dav-endless-properties", http: byDAV, steps: []string{"index", "head"}, strike: after("HTTP/1.1 207 x\r\n\r\n"+davBegin+"<D:response>", "<D:x>y</D:x>")},
		{name: "dav-endless-depth", http: byDAV, steps: []string{"index", "head"}, strike: after("HTTP/1.1 207 x\r\n\r\n"+davBegin, "<D:response>")},
		{name: "dav-of-another", http: byDAV, steps: index, strike: pageOf("text/xml", davBegin+"</D:multistatus>", "<x/>", davBegin+davOf("/edit/x.zip", "5", "")+"</D:multistatus>", "<html></html>"), ends: []string{"no_index_page"}},
		{name: "dav-names", http: byDAV, steps: index, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(multistatus(davDir + httpNames(w, func(href string) string { return davOf("/add/"+href, "5", "") })))
			return err
		}},
		{name: "dav-sizes-and-times", http: byDAV, steps: []string{"index", "head"}, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(multistatus(davDir + davOf("/add/"+w.s.file, anyOf(w, "-1", "9223372036854775807", "99999999999999999999", "x", ""), anyOf(w, "Fri, 31 Dec 99999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "never", "", "Mon, 01 Jan 1601 00:00:00 GMT"))))
			return err
		}},
		{name: "http-file-other-range", steps: file, strike: func(w *wire, well []byte) error {
			_, err := w.Write(bytes.Replace(well, []byte("200 OK"), []byte("206 Partial Content\r\nContent-Range: bytes 100-200/9999"), 1))
			return err
		}, ends: []string{"transfer_failed"}},
		{name: "http-file-short", steps: file, strike: func(w *wire, well []byte) error {
			if _, err := w.Write(well[:len(well)-10]); err != nil {
				return err
			}
			return w.cut()
		}},
		{name: "http-file-long", steps: file, strike: func(w *wire, well []byte) error {
			_, err := w.Write(append(well, garbage(w.rng, 100_000)...))
			return err
		}},
		{name: "http-file-endless", steps: file, strike: after("HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\n\r\n", "P"), size: 1 << 10},
		{name: "http-file-endless-chunks", steps: file, strike: after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nP\r\n"), size: 1 << 10},
		{name: "http-file-slow", size: 4 << 20, steps: file, strike: slowly},
		{name: "http-file-is-a-page", steps: file, strike: pageOf("text/html", "<html>log in</html>", strings.Repeat("<p>", 100_000))},
		{name: "http-size-lies", steps: []string{"head"}, strike: statuses("200 OK\r\nLast-Modified: never", "200 OK\r\nLast-Modified: Fri, 31 Dec 9999 23:59:59 GMT", "200 OK\r\nLast-Modified: Mon, 01 Jan 0001 00:00:00 GMT", "200 OK\r\nAccept-Ranges: none")},
	}
}
