package http_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

const (
	rssFeed = `<?xml version="1.0" encoding="ISO-8859-1"?>
<rss version="2.0"><channel><title>Caf` + "\xe9" + ` &nbsp; <![CDATA[<b>]]></title><link>http://elsewhere.example/</link>
<image><url>x</url><link>BASE/add/logo.zip</link></image>
<item><title>newest</title><link>BASE/news/1.html</link><enclosure url="BASE/add/b.zip" length="7" type="application/zip"/><pubDate>Thu, 29 Feb 2024 23:59:58 +0100</pubDate></item>
<item><enclosure url="../edit/c.zip" length="0"/><pubDate>yesterday</pubDate></item>
<item><link>BASE/add/a%20b.zip</link><link>BASE/add/b.zip</link></item>
<item><enclosure url="http://elsewhere.example/impc/add/d.zip"/><enclosure url="BASE/add/e.zip?x=1"/><enclosure url="BASE/add/deep/f.zip"/><enclosure url="javascript:x"/><enclosure/></item>
<item><enclosure url="BASE/add/g.zip.md5" length="33"/></item>
</channel></rss>`
	atomFeed = `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><link rel="self" href="BASE/add/self.zip"/>
<entry><title>x</title><link rel="alternate" href="BASE/news/1.html"/><link rel="enclosure" href="BASE/add/b.zip" length="7"/><updated>2024-02-29T23:59:58+01:00</updated></entry>
<entry><content src="BASE/edit/c.zip"/><author><name>n</name><uri>BASE/add/h.zip</uri></author></entry>
<entry><link href="BASE/add/a%20b.zip"/></entry>
<entry><link href="BASE/add/g.zip.md5" length="33"/></entry>
</feed>`
	rdfFeed = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="x"><items><rdf:Seq/></items></channel>
<item><link>BASE/add/b.zip</link><dc:date>2024-02-29T22:59:58Z</dc:date></item><item><link>BASE/edit/c.zip</link></item><item><link>BASE/add/a%20b.zip</link></item><item><link>BASE/add/g.zip.md5</link></item></rdf:RDF>`
)

// A feed shows files below the base, of each item what the server doesn't say itself:
// zips are asked for, since a feed's times are not theirs.
func TestFeedsShowFiles(t *testing.T) {
	for about, text := range map[string]string{"RSS": rssFeed, "Atom": atomFeed, "RDF": rdfFeed} {
		times := map[string]int{}
		s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
			times[r.Method+" "+r.URL.EscapedPath()]++
			switch r.URL.Path {
			case "/impc/news/feed.xml":
				_, _ = io.WriteString(w, strings.ReplaceAll(text, "BASE", "http://"+r.Host+"/impc"))
			case "/impc/edit/c.zip":
				w.Header().Set("Last-Modified", "Fri, 01 Mar 2024 10:00:00 GMT")
				w.Header().Set("ETag", `"c1"`)
				w.Header().Set("Content-Length", "12")
			}
		})
		session := remotetest.Dial(t, remote.Config{URL: s.URL + "/impc", IgnoreRobots: true, Feed: "news/feed.xml"})
		got := map[string][]remote.Entry{}
		for _, dir := range []string{"add", "edit", "delete", ""} {
			if err := session.List(t.Context(), dir, func(e remote.Entry) error { got[dir] = append(got[dir], e); return nil }); err != nil {
				t.Fatalf("%s, %s: %v", about, dir, err)
			}
		}
		published := time.Date(2024, 2, 29, 22, 59, 58, 0, time.UTC)
		of := map[string]int64{"md5": 33, "b": 7}
		if about == "RDF" {
			of = map[string]int64{"md5": -1, "b": -1}
		}
		at := published.Format(time.RFC3339)
		said := map[string]map[string]string{
			"RSS":  {"title": "newest", "published": at, "content_type": "application/zip"},
			"Atom": {"title": "x", "updated": at},
			"RDF":  {"published": at},
		}
		inC := map[string]string{"etag": `"c1"`}
		switch about {
		case "RSS":
			inC["published"] = "yesterday"
		case "Atom":
			inC["author"] = "n"
		}
		want := map[string][]remote.Entry{
			"add": {
				{Name: "g.zip.md5", Size: of["md5"]},
				{Name: "b.zip", Size: of["b"], ModTime: published, Precision: time.Second, Attributes: said[about]},
				{Name: "a b.zip", Size: -1},
			},
			"edit": {{Name: "c.zip", Size: 12, ModTime: time.Date(2024, 3, 1, 10, 0, 0, 0, time.UTC), Precision: time.Second, Attributes: inC}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
		if n := times["GET /impc/news/feed.xml"]; n != 1 {
			t.Errorf("%s: the feed was read %d times by one session", about, n)
		}
	}
}

// What an item says of itself comes with its files: each of its fields once, in the words
// of no format, as one line that can be stored, and no longer than it may be.
func TestItemsSayWhatFilesAre(t *testing.T) {
	long := strings.Repeat("d", 5000)
	rss := `<rss xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>not this</title><item>
<guid isPermaLink="false">urn:1</guid><title>Mice,
  <i>again</i> &amp; &lt;b&gt;</title><media:title>another</media:title><dc:creator>Ann</dc:creator><category>a</category><category>b</category><dc:subject>c</dc:subject>
<description>` + long + `</description><pubDate>Thu, 29 Feb 2024 23:59:58 +0100</pubDate><source url="x">s</source>
<enclosure url="BASE/add/b.zip" type="application/zip&#x202e;"/><enclosure url="BASE/add/c.zip" type=" "/><media:content url="BASE/add/d.zip"><media:title>inner</media:title></media:content></item>
<item><title> </title><enclosure url="BASE/add/e.zip"/></item></channel></rss>`
	atom := `<feed xmlns="http://www.w3.org/2005/Atom"><title>not this</title><entry><id>urn:1</id><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Mice, <b>again</b></div></title>
<author> <name>Ann</name><uri>http://x/</uri></author><author><name>Bob</name></author><category term="a"/><category term="b" label="B"/><summary>s</summary>
<published>2024-02-28T00:00:00Z</published><updated>2024-02-29T22:59:58Z</updated><link rel="enclosure" href="BASE/add/b.zip" type="application/zip"/></entry></feed>`
	for about, tt := range map[string]struct {
		text string
		want map[string]map[string]string
		time time.Time
	}{
		"RSS": {rss, map[string]map[string]string{
			"b.zip": {"id": "urn:1", "title": "Mice, again & <b>", "author": "Ann", "categories": "a, b, c", "description": long[:997] + "…", "published": "2024-02-29T22:59:58Z", "content_type": "application/zip\uFFFD"},
			"c.zip": {"id": "urn:1", "title": "Mice, again & <b>", "author": "Ann", "categories": "a, b, c", "description": long[:997] + "…", "published": "2024-02-29T22:59:58Z"},
			"d.zip": {"id": "urn:1", "title": "Mice, again & <b>", "author": "Ann", "categories": "a, b, c", "description": long[:997] + "…", "published": "2024-02-29T22:59:58Z"},
			"e.zip": nil,
		}, time.Date(2024, 2, 29, 22, 59, 58, 0, time.UTC)},
		"Atom": {atom, map[string]map[string]string{
			"b.zip": {"id": "urn:1", "title": "Mice, again", "author": "Ann", "categories": "a, b", "description": "s", "published": "2024-02-28T00:00:00Z", "updated": "2024-02-29T22:59:58Z", "content_type": "application/zip"},
		}, time.Date(2024, 2, 29, 22, 59, 58, 0, time.UTC)},
	} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/impc/feed.xml" {
				_, _ = io.WriteString(w, strings.ReplaceAll(tt.text, "BASE", "http://"+r.Host+"/impc"))
			}
		})
		session := remotetest.Dial(t, remote.Config{URL: s.URL + "/impc", IgnoreRobots: true, Feed: "feed.xml"})
		for again := range 2 { // a feed is read once, and what it said is not changed by who gets it
			got := map[string]map[string]string{}
			err := session.List(t.Context(), "add", func(e remote.Entry) error {
				got[e.Name] = e.Attributes
				if e.Name == "b.zip" && !e.ModTime.Equal(tt.time) {
					t.Errorf("%s: the time is %v, want %v", about, e.ModTime, tt.time)
				}
				return nil
			})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s, listing %d: %v (-want +got):\n%s", about, again, err, diff)
			}
		}
	}
}

// listedIf lists a directory unless it is a version still.
func listedIf(t *testing.T, s remote.Session, dir, version string) (is string, entries int, err error) {
	t.Helper()
	c, ok := s.(remote.Conditional)
	if !ok {
		t.Fatal("the session can't be asked whether a listing is another")
	}
	is, err = c.ListIf(t.Context(), dir, version, func(remote.Entry) error { entries++; return nil })
	return is, entries, err
}

// What is as it was is not sent again: pages and feeds, by ETag, weak ones too, or by a
// time that is not of the present.
func TestHTTPListingsAreAskedForIfTheyAreOthers(t *testing.T) {
	old, now := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), time.Now().UTC().Format(http.TimeFormat)
	for _, tt := range []struct{ about, header, value, is string }{
		{"a strong one", "ETag", `"v1"`, `"v1"`}, {"a weak one", "ETag", `W/"v1"`, `W/"v1"`}, {"a time", "Last-Modified", old, old},
		{"a time of now", "Last-Modified", now, ""}, {"none", "X", "y", ""}, {"a broken one", "ETag", `"v1`, ""}, {"a long one", "ETag", `"` + strings.Repeat("v", 600) + `"`, ""},
	} {
		for _, feed := range []string{"", "feed.xml"} {
			bodies := 0
			s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(tt.header, tt.value)
				if v := r.Header.Get("If-None-Match") + r.Header.Get("If-Modified-Since"); v != "" && v == tt.value {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				bodies++
				if feed != "" {
					_, _ = io.WriteString(w, "<rss><channel><item><link>add/a.txt</link></item></channel></rss>")
					return
				}
				page(w, `<title>Index of /add</title><a href="a.txt">a</a>`)
			})
			c := remote.Config{URL: s.URL, IgnoreRobots: true, Feed: feed}
			is, n, err := listedIf(t, remotetest.Dial(t, c), "add", "")
			if is != tt.is || n != 1 || err != nil {
				t.Errorf("%s, %q: version %q, %d entries, %v", tt.about, feed, is, n, err)
			}
			session := remotetest.Dial(t, c)
			_, n, err = listedIf(t, session, "add", is)
			if unchanged := errors.Is(err, remote.ErrUnchanged); unchanged != (tt.is != "") || unchanged && (n > 0 || bodies != 1 || remote.SessionLost(err)) {
				t.Errorf("%s, %q: asked again %d entries, %d bodies, %v", tt.about, feed, n, bodies, err)
			}
			if _, n, err = listedIf(t, session, "add", `"other"`); n != 1 || err != nil {
				t.Errorf("%s, %q: of another version %d entries, %v", tt.about, feed, n, err)
			}
		}
	}
}

// A listing that broke off has no version, whatever its head says.
func TestHTTPListingsThatBreakOffHaveNoVersion(t *testing.T) {
	url := liar(t, says(htmlOK+"ETag: \"v1\"\nContent-Length: 1000\n\n<title>Index of</title><a href=\"a.txt\">a</a>"))
	if is, _, err := listedIf(t, remotetest.Dial(t, remote.Config{URL: url, IgnoreRobots: true}), "add", ""); is != "" && err == nil || remote.Exception(err) != "connection_lost" {
		t.Errorf("version %q, %v", is, err)
	}
}
