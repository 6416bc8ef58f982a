package http_test

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

// liar is an HTTP server that answers with any bytes, whatever it is asked, and
// hangs up.
func liar(t *testing.T, answer func(io.Writer)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					answer(conn)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

// says writes a text, with CR before each LF of its header.
func says(text string) func(io.Writer) {
	head, body, _ := strings.Cut(text, "\n\n")
	return func(w io.Writer) { _, _ = io.WriteString(w, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body) }
}

// silence waits until the client hangs up.
func silence(w io.Writer) {
	if r, ok := w.(io.Reader); ok {
		_, _ = io.Copy(io.Discard, r)
	}
}

const htmlOK = "HTTP/1.1 200 OK\nContent-Type: text/html\n"

// Whatever a server sends, each question ends, soon and within little memory, and
// says what was wrong.
func TestHTTPAnswersThatAreLies(t *testing.T) {
	for about, tt := range map[string]struct {
		answer     func(io.Writer)
		open, list string // exceptions; open's is of opening or reading
	}{
		"a header without end":          {remotetest.Then(remotetest.Starts("HTTP/1.1 200 OK\r\nX: "), remotetest.Endless("x")), "reply_too_long", "reply_too_long"},
		"headers without end":           {remotetest.Then(remotetest.Starts("HTTP/1.1 200 OK\r\n"), remotetest.Endless("X-Filler: y\r\n")), "reply_too_long", "reply_too_long"},
		"a status without end":          {remotetest.Then(remotetest.Starts("HTTP/1.1 200 "), remotetest.Endless("O")), "reply_too_long", "reply_too_long"},
		"preludes without end":          {remotetest.Endless("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), "reply_too_long", "reply_too_long"},
		"noise":                         {remotetest.Endless("\x00\xff\x1b[31m"), "reply_too_long", "reply_too_long"},
		"FTP":                           {remotetest.Starts("220 hello\r\n"), "protocol_error", "protocol_error"},
		"nothing":                       {func(io.Writer) {}, "connection_lost", "connection_lost"},
		"silence":                       {silence, "timed_out", "timed_out"},
		"a slow header":                 {remotetest.Drip("HTTP/1.1 200 OK\r\nX: ", 20*time.Millisecond), "timed_out", "timed_out"},
		"silence in place of a body":    {remotetest.Then(says(htmlOK+"Content-Length: 10\n\n12345"), silence), "timed_out", "timed_out"},
		"fewer bytes than it says":      {says(htmlOK + "Content-Length: 100000\n\n<title>Index of</title>"), "connection_lost", "connection_lost"},
		"a negative length":             {says(htmlOK + "Content-Length: -1\n\nx"), "protocol_error", "protocol_error"},
		"two lengths":                   {says(htmlOK + "Content-Length: 1\nContent-Length: 2\n\nxx"), "protocol_error", "protocol_error"},
		"a chunk cut off":               {says(htmlOK + "Transfer-Encoding: chunked\n\n5\r\n<titl"), "connection_lost", "connection_lost"},
		"chunks that are none":          {says(htmlOK + "Transfer-Encoding: chunked\n\nzz\r\nxx\r\n"), "protocol_error", "protocol_error"},
		"packed":                        {says(htmlOK + "Content-Encoding: gzip\nContent-Length: 2\n\n\x1f\x8b"), "transfer_failed", "transfer_failed"},
		"another protocol":              {says("HTTP/1.1 101 Switching Protocols\nUpgrade: x\nConnection: upgrade\n\n"), "transfer_failed", "transfer_failed"},
		"a reason to be cleaned":        {says("HTTP/1.1 500 \x1b[31mred\u202e " + strings.Repeat("long", 1000) + "\nContent-Length: 0\n\n"), "connection_lost", "connection_lost"},
		"a page cut off":                {says(htmlOK + "Connection: close\n\n<html><title>Index of /</title><a href=\"a.xml\">a</a>"), "", "connection_lost"},
		"a page that ends by its end":   {says(htmlOK + "Connection: close\n\n<html><title>Index of /</title><a href=\"a.xml\">a</a></html>"), "", ""},
		"a tag without end":             {remotetest.Then(says(htmlOK+"\n<a href=\""), remotetest.Endless("x")), "skip", "no_index_page"},
		"attributes without end":        {remotetest.Then(says(htmlOK+"\n<a "), remotetest.Endless("x=y ")), "skip", "no_index_page"},
		"a comment without end":         {remotetest.Then(says(htmlOK+"\n<!-- "), remotetest.Endless("x")), "skip", "no_index_page"},
		"a script without end":          {remotetest.Then(says(htmlOK+"\n<script>"), remotetest.Endless("x")), "skip", "no_index_page"},
		"text without end":              {remotetest.Then(says(htmlOK+"\n"), remotetest.Endless("x")), "skip", "no_index_page"},
		"tags without end":              {remotetest.Then(says(htmlOK+"\n"), remotetest.Endless("<td><b>x")), "skip", "listing_too_long"},
		"links without end":             {remotetest.Then(says(htmlOK+"\n"), remotetest.Endless("<a href=\"a.xml\">a</a>\n")), "skip", "listing_too_long"},
		"JSON without end":              {remotetest.Then(says("HTTP/1.1 200 OK\nContent-Type: application/json\n\n["), remotetest.Endless(`{"name":"a","type":"file","size":1},`)), "skip", "listing_too_long"},
		"a name in JSON without end":    {remotetest.Then(says("HTTP/1.1 200 OK\nContent-Type: application/json\n\n[{\"name\":\""), remotetest.Endless("x")), "skip", "no_index_page"},
		"JSON that is too deep":         {remotetest.Then(says("HTTP/1.1 200 OK\nContent-Type: application/json\n\n["), remotetest.Endless("[")), "skip", "no_index_page"},
		"JSON cut off":                  {says("HTTP/1.1 200 OK\nContent-Type: application/json\n\n[{\"name\":\"a\",\"type\":\"file\",\"size\":1}"), "", "connection_lost"},
		"sizes and times that are none": {says(htmlOK + "Connection: close\n\n<title>Index of</title><a href=\"a.xml\">a</a> 2024-02-31 25:61 99999999999999999999999</html>"), "", ""},
	} {
		t.Run(about, func(t *testing.T) {
			session, err := connectors.All().Dial(t.Context(), remote.Config{
				URL: liar(t, tt.answer), IgnoreRobots: true, IdleTimeout: remotetest.Within(tt.list, 250*time.Millisecond), Limits: remote.Limits{Listing: 2 << 20},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if tt.open != "skip" {
				if err := remotetest.FetchAll(t, session); remote.Exception(err) != tt.open {
					t.Errorf("open: %v (%s), want %q", err, remote.Exception(err), tt.open)
				} else if err != nil {
					remotetest.Fit(t, err)
				}
			}
			used := remotetest.Allocated(func() { _, err = remotetest.Listed(t, session, "add") })
			if remote.Exception(err) != tt.list {
				t.Errorf("list: %v (%s), want %q", err, remote.Exception(err), tt.list)
			}
			if err != nil {
				remotetest.Fit(t, err)
			}
			if used > 128<<20 {
				t.Errorf("listing took %d MiB", used>>20)
			}
		})
	}
}

// A robots.txt without end is read as far as RFC 9309 says, and so is its meaning.
func TestHTTPRobotsWithoutEnd(t *testing.T) {
	url := liar(t, remotetest.Then(says("HTTP/1.1 200 OK\n\nUser-agent: *\nDisallow: /\n"), remotetest.Endless("# filler\n")))
	_, err := remotetest.Listed(t, remotetest.Dial(t, remote.Config{URL: url}), "add")
	if remote.Exception(err) != "robots_forbidden" {
		t.Errorf("%v (%s)", err, remote.Exception(err))
	}
}

// Redirects are followed as long as they are few and lead to no worse place.
func TestHTTPRedirects(t *testing.T) {
	hops := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var i int
			_, _ = fmt.Sscanf(r.URL.Query().Get("hop"), "%d", &i)
			if i < n {
				http.Redirect(w, r, fmt.Sprintf("/any?hop=%d", i+1), http.StatusTemporaryRedirect)
			}
		}
	}
	for about, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"five":              {hops(5), ""},
		"six":               {hops(6), "transfer_failed"},
		"a loop":            {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "transfer_failed"},
		"to nowhere":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, "transfer_failed"},
		"to a file":         {sendTo("file:///etc/passwd"), "transfer_failed"},
		"to another scheme": {sendTo("gopher://127.0.0.1/"), "transfer_failed"},
		"to no host":        {sendTo("http:///x"), "transfer_failed"},
		"to no port":        {sendTo("http://127.0.0.1:99999/x"), "connection_failed"},
	} {
		s := remotetest.NewSite(t, tt.answer)
		session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
		err := remotetest.FetchAll(t, session)
		if remote.Exception(err) != tt.want {
			t.Errorf("%s: %v (%s), want %q", about, err, remote.Exception(err), tt.want)
		}
		if asked := len(s.Asked()); asked > 6 {
			t.Errorf("%s: %d requests", about, asked)
		}
	}
}

func TestHTTPSNeverBecomesHTTP(t *testing.T) {
	plain := remotetest.NewSite(t, func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewTLSServer(sendTo(plain.URL + "/add/x.zip"))
	t.Cleanup(s.Close)
	ca := remotetest.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	err := remotetest.FetchAll(t, remotetest.Dial(t, remote.Config{URL: s.URL, CAFile: ca, IgnoreRobots: true}))
	if remote.Exception(err) != "transfer_failed" || len(plain.Asked()) > 0 {
		t.Errorf("%v (%s), after asking %v", err, remote.Exception(err), plain.Asked())
	}
}

// Names of any length and bytes are as storable as those of other protocols.
func TestHTTPNamesThatAreTooLong(t *testing.T) {
	long := strings.Repeat("%FF", 20_000) + ".zip"
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusRequestURITooLong)
			return
		}
		page(w, `<a href="`+long+`">x</a>`)
	})
	var got []remote.Entry
	err := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true}).List(t.Context(), "add", func(e remote.Entry) error { got = append(got, e); return nil })
	if err != nil || len(got) != 1 || got[0].Invalid != "name_too_long" || len(got[0].Name) != remote.MaxName {
		t.Errorf("%.200v, %v", got, err)
	}
}

// An answer about one file that is no HTTP says that nothing of the server counts:
// the listing is broken off, and shows no file as it isn't.
func TestHTTPListingEndsWhereAnswersAreBroken(t *testing.T) {
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			page(w, `<a href="a.zip">x</a> 2024-02-29 10:00 5`)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 two hundred\r\n\r\n")
	})
	got, err := remotetest.Listed(t, remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true}), "add")
	if remote.Exception(err) != "protocol_error" || len(got) > 0 {
		t.Errorf("%v, %v (%s), want protocol_error", got, err, remote.Exception(err))
	}
}

// A file that is gone when it is asked for is not there; one that may not be read is.
func TestHTTPFilesThatVanishMeanwhile(t *testing.T) {
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodHead:
			page(w, `<a href="gone.zip">x</a> 2024-02-29 10:00 5<br><a href="secret.zip">x</a> 2024-02-29 10:00 7<br><a href="there.zip">x</a>`)
		case strings.HasSuffix(r.URL.Path, "gone.zip"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "secret.zip"):
			w.WriteHeader(http.StatusForbidden)
		default:
			w.Header().Set("Last-Modified", "0")
			w.Header().Set("Content-Length", "9")
		}
	})
	var got []remote.Entry
	err := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true}).List(t.Context(), "add", func(e remote.Entry) error { got = append(got, e); return nil })
	want := []remote.Entry{{Name: "secret.zip", Size: 7, ModTime: time.Date(2024, 2, 29, 10, 0, 0, 0, time.UTC), Precision: time.Minute}, {Name: "there.zip", Size: 9}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("listing, %v (-want +got):\n%s", err, diff)
	}
}
