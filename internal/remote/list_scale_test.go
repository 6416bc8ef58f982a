//go:build !race

package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/test/servers"
)

// long is when the files of these tests changed last.
func long() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

func nth(i int) string { return fmt.Sprintf("CENTRE.2024-02-29.%07d.impc.zip", i) }

// thousands answers with page after page of a thousand keys, n in all.
func thousands(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
		var page strings.Builder
		for i := from; i < min(from+1000, n); i++ {
			page.WriteString(object("impc/add/"+nth(i), "5", noon))
		}
		end := lastPage
		if from+1000 < n {
			end = more + strconv.Itoa(from+1000) + moreEnd
		}
		keys(w, page.String()+end)
	}
}

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

// many makes a directory add of n empty zips that changed long ago, and returns the one
// above.
func many(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "served")
	if err := os.MkdirAll(filepath.Join(dir, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	for i := range n {
		name := filepath.Join(dir, "add", nth(i))
		f, err := os.Create(name)
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = os.Chtimes(name, long(), long())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// However many entries are listed, few are held: real servers of SFTP and FTP, a
// directory, and generated answers of the others. make listing-scale lists a million
// each, for which the whole process, servers of generated answers included, takes less
// than 200 MB. A listing that shows no exact times is one of files that are known, as
// it is at each poll but the first: new ones are asked for one by one.
func TestListsAnyNumber(t *testing.T) {
	n := 5000
	if many, err := strconv.Atoi(os.Getenv("TRIBUTARY_SCALE_ENTRIES")); err == nil {
		n = many
	}
	dir := many(t, n)
	indexed := max(n, 120_000) // more than may be kept to be asked for
	site := func(handle http.HandlerFunc, also remote.Config) func(t *testing.T) remote.Config {
		return func(t *testing.T) remote.Config {
			also.URL, also.IgnoreRobots = newSite(t, handle).URL, true
			return also
		}
	}
	for _, tt := range []struct {
		name  string
		n     int
		size  int64
		start func(t *testing.T) remote.Config
	}{
		{"a directory", n, 0, func(*testing.T) remote.Config { return remote.Config{URL: "file://" + dir} }},
		{"sftp, OpenSSH", n, 0, func(t *testing.T) remote.Config {
			sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
			servers.Need(t, err)
			t.Cleanup(sshd.Stop)
			return remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts}
		}},
		{"ftp, vsftpd", n, 0, func(t *testing.T) remote.Config {
			ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir})
			servers.Need(t, err)
			t.Cleanup(ftpd.Stop)
			return remote.Config{URL: ftpd.URL("/")}
		}},
		{"http, as nginx writes indexes", indexed, 5, site(pageOf(indexed, 200, "text/html", "<html><head><title>Index of /add/</title></head><body><h1>Index of /add/</h1><hr><pre><a href=\"../\">../</a>\r\n", "</pre><hr></body></html>",
			func(i int) string {
				return fmt.Sprintf("<a href=\"%s\">%s</a>          29-Feb-2024 12:00                   5\r\n", nth(i), nth(i))
			}), remote.Config{})},
		{"webdav", n, 5, site(pageOf(n, 207, "application/xml", strings.TrimSuffix(davOf(""), "</D:multistatus>"), "</D:multistatus>", func(i int) string {
			return "<D:response><D:href>/add/" + nth(i) + "</D:href><D:propstat><D:prop><D:resourcetype/><D:getcontentlength>5</D:getcontentlength><D:getlastmodified>Thu, 29 Feb 2024 12:00:00 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
		}), remote.Config{WebDAV: true})},
		{"s3", n, 5, func(t *testing.T) remote.Config {
			_, c := store(t, thousands(n), nil)
			c.Limits = remote.Limits{}
			return c
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.start(t)
			c.IdleTimeout = 10 * time.Minute // a busy machine's server may sort for long
			c.Known = func(_ string, shown []remote.Entry) ([]remote.Entry, error) {
				known := make([]remote.Entry, len(shown))
				for i, e := range shown {
					known[i] = remote.Entry{Name: e.Name, Size: tt.size, ModTime: long()}
				}
				return known, nil
			}
			lists(t, dialSite(t, c), tt.n, tt.size)
		})
	}
}

// lists lists n entries, and looks how much is held meanwhile.
func lists(t *testing.T, session remote.Session, n int, size int64) {
	t.Helper()
	var m runtime.MemStats
	held := func() uint64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, count := held(), uint64(0), 0
	err := session.List(t.Context(), "add", func(e remote.Entry) error {
		if e.Size != size || !e.ModTime.Equal(long()) {
			t.Fatalf("%+v", e)
		}
		if count++; count%(n/5) == 0 {
			most = max(most, held())
		}
		return nil
	})
	if err != nil || count != n {
		t.Fatalf("%d entries, %v", count, err)
	}
	if most > before+8<<20 {
		t.Errorf("%d KiB were held", (most-before)>>10)
	}
	if t.Logf("%d entries: %d MiB in all", n, m.Sys>>20); n >= 1_000_000 && m.Sys > 200_000_000 {
		t.Error("that is too much")
	}
}
