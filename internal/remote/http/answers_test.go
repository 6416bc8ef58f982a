//go:build !race

package http_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// How a session ends whose server lies is the same for every kind of listing: with the race
// detector TestHTTPAnswersThatAreLies is enough.

// Whatever stands in a feed's place, reading it ends, soon and within little memory.
func TestFeedsThatAreNone(t *testing.T) {
	head := "HTTP/1.1 200 OK\nContent-Type: application/rss+xml\n"
	bomb := `<!DOCTYPE rss [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>`
	for about, tt := range map[string]struct {
		answer func(io.Writer)
		want   string
	}{
		"a page":                         {says(head + "Connection: close\n\n<html><body><a href='add/x.zip'>x</a></body></html>"), "no_index_page"},
		"nothing":                        {says(head + "Content-Length: 0\n\n"), "no_index_page"},
		"no XML":                         {says(head + "Content-Length: 7\n\n[\"a\",1]"), "no_index_page"},
		"an empty feed":                  {says(head + "Connection: close\n\n<rss><channel/></rss>"), ""},
		"items about other things":       {says(head + "Connection: close\n\n<rss><channel><item><link>http://other.example/x.zip</link></item></channel></rss>"), "no_index_page"},
		"a feed cut off":                 {says(head + "Connection: close\n\n<rss><channel><item><link>add/x.zip</link></item>"), "connection_lost"},
		"a feed cut off by its length":   {says(head + "Content-Length: 1000\n\n<rss><channel><item><link>add/x.zip</link></item></channel></rss>"), "connection_lost"},
		"entities":                       {says(head + "Connection: close\n\n" + bomb + "<rss><channel><item><link>&b;</link></item></channel></rss>"), "no_index_page"},
		"an entity from a file":          {says(head + "Connection: close\n\n" + bomb + "<rss><channel><item><link>&f;</link></item></channel></rss>"), "no_index_page"},
		"an unknown charset":             {says(head + "Connection: close\n\n<?xml version='1.0' encoding='klingon'?><rss/>"), "no_index_page"},
		"another charset than it says":   {says(head + "Connection: close\n\n<?xml version='1.0' encoding='utf-8'?><rss><channel>\xff\xfe</channel></rss>"), "no_index_page"},
		"not well-formed":                {says(head + "Connection: close\n\n<rss><channel></rss></channel>"), "no_index_page"},
		"text without end":               {remotetest.Then(says(head+"\n<rss><channel><title>"), remotetest.Endless("x")), "no_index_page"},
		"an attribute without end":       {remotetest.Then(says(head+"\n<rss a=\""), remotetest.Endless("x")), "no_index_page"},
		"a declaration without end":      {remotetest.Then(says(head+"\n<!DOCTYPE rss ["), remotetest.Endless("<!ENTITY a 'x'>")), "no_index_page"},
		"a comment without end":          {remotetest.Then(says(head+"\n<rss><!-- "), remotetest.Endless("x")), "no_index_page"},
		"elements in each other":         {remotetest.Then(says(head+"\n<rss>"), remotetest.Endless("<a>")), "no_index_page"},
		"links without end in one item":  {remotetest.Then(says(head+"\n<rss><channel><item>"), remotetest.Endless("<link>add/x.zip</link>")), "no_index_page"},
		"items without end":              {remotetest.Then(says(head+"\n<rss><channel>"), remotetest.Endless("<item><link>add/x.zip</link></item>\n")), "listing_too_long"},
		"items without end of no use":    {remotetest.Then(says(head+"\n<rss><channel>"), remotetest.Endless("<item><title>x</title></item>\n")), "listing_too_long"},
		"elements without end, and flat": {remotetest.Then(says(head+"\n<rss><channel>"), remotetest.Endless("<x>y</x>")), "listing_too_long"},
		"packed":                         {says(head + "Content-Encoding: gzip\nContent-Length: 2\n\n\x1f\x8b"), "transfer_failed"},
		"silence":                        {silence, "timed_out"},
		"unchanged, which nobody asked":  {says("HTTP/1.1 304 Not Modified\nETag: \"x\"\n\n"), "transfer_failed"},
	} {
		t.Run(about, func(t *testing.T) {
			session := remotetest.Dial(t, remote.Config{URL: liar(t, tt.answer), IgnoreRobots: true, Feed: "feed.xml", IdleTimeout: remotetest.Within(tt.want, 250*time.Millisecond), Limits: remote.Limits{Listing: 4 << 20}})
			var err error
			used := remotetest.Allocated(func() { _, err = remotetest.Listed(t, session, "edit") })
			if remote.Exception(err) != tt.want {
				t.Errorf("%v (%s), want %q", err, remote.Exception(err), tt.want)
			}
			if err != nil {
				remotetest.Fit(t, err)
			}
			if used > 256<<20 {
				t.Errorf("reading it took %d MiB", used>>20)
			}
		})
	}
	for _, bad := range []string{"http://elsewhere.example/feed.xml", "//elsewhere.example/feed.xml", "https://127.0.0.1/", "%zz"} {
		session := remotetest.Dial(t, remote.Config{URL: "http://" + strings.TrimPrefix(liar(t, says(head+"\n<rss/>")), "http://"), IgnoreRobots: true, Feed: bad})
		if _, err := remotetest.Listed(t, session, "add"); remote.Exception(err) != "bad_source_configuration" {
			t.Errorf("%s: %v (%s)", bad, err, remote.Exception(err))
		}
	}
}

// Whatever stands in place of an answer of WebDAV, reading it ends, soon and within
// little memory, and nothing is concluded from it.
func TestWebDAVAnswersThatAreNone(t *testing.T) {
	file := `<D:response><D:href>/add/x.txt</D:href></D:response>`
	for about, tt := range map[string]struct {
		answer func(io.Writer)
		want   string
	}{
		"an empty directory":         {says(davHead + "Connection: close\n\n" + davOf("")), ""},
		"not the directory":          {says(davHead + "Connection: close\n\n<multistatus xmlns=\"DAV:\"/>"), "no_index_page"},
		"another directory":          {says(davHead + "Connection: close\n\n" + strings.ReplaceAll(davOf(""), "/add/", "/edit/")), "no_index_page"},
		"another namespace":          {says(davHead + "Connection: close\n\n" + strings.ReplaceAll(davOf(file), "DAV:", "VAD:")), "no_index_page"},
		"a page":                     {says(htmlOK + "Content-Length: 3\n\n<p>"), "no_index_page"},
		"not allowed":                {says("HTTP/1.1 405 Method Not Allowed\nContent-Length: 0\n\n"), "no_index_page"},
		"not implemented":            {says("HTTP/1.1 501 Not Implemented\nContent-Length: 0\n\n"), "connection_lost"},
		"not there":                  {says("HTTP/1.1 404 Not Found\nContent-Length: 0\n\n"), "file_gone"},
		"cut off":                    {says(davHead + "Connection: close\n\n" + strings.TrimSuffix(davOf(file), "</D:multistatus>")), "connection_lost"},
		"cut off by its length":      {says(davHead + "Content-Length: 99999\n\n" + davOf(file)), "connection_lost"},
		"entities":                   {says(davHead + "Connection: close\n\n<!DOCTYPE x [<!ENTITY a 'b'>]>" + davOf("<D:response><D:href>/add/&a;</D:href></D:response>")), "no_index_page"},
		"a name without end":         {remotetest.Then(says(davHead+"\n<D:multistatus xmlns:D='DAV:'><D:response><D:href>"), remotetest.Endless("x")), "no_index_page"},
		"elements in each other":     {remotetest.Then(says(davHead+"\n<D:multistatus xmlns:D='DAV:'><D:response>"), remotetest.Endless("<D:prop>")), "no_index_page"},
		"properties without end":     {remotetest.Then(says(davHead+"\n<D:multistatus xmlns:D='DAV:'><D:response>"), remotetest.Endless("<D:x>y</D:x>")), "listing_too_long"},
		"entries without end":        {remotetest.Then(says(davHead+"\n<D:multistatus xmlns:D='DAV:'>"), remotetest.Endless(file)), "listing_too_long"},
		"sent elsewhere":             {says("HTTP/1.1 302 Found\nLocation: http://localhost:1/add/\nContent-Length: 0\n\n"), "connection_failed"},
		"packed":                     {says(davHead + "Content-Encoding: gzip\nContent-Length: 2\n\n\x1f\x8b"), "transfer_failed"},
		"silence in place of an end": {remotetest.Then(says(davHead+"\n<D:multistatus xmlns:D='DAV:'>"), silence), "timed_out"},
	} {
		t.Run(about, func(t *testing.T) {
			session := remotetest.Dial(t, remote.Config{URL: liar(t, tt.answer), IgnoreRobots: true, WebDAV: true, IdleTimeout: remotetest.Within(tt.want, 250*time.Millisecond), Limits: remote.Limits{Listing: 4 << 20}})
			var err error
			used := remotetest.Allocated(func() { _, err = remotetest.Listed(t, session, "add") })
			if remote.Exception(err) != tt.want {
				t.Errorf("%v (%s), want %q", err, remote.Exception(err), tt.want)
			}
			if err != nil {
				remotetest.Fit(t, err)
			}
			if used > 128<<20 {
				t.Errorf("reading it took %d MiB", used>>20)
			}
		})
	}
}
