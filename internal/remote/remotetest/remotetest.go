// Package remotetest is the conformance suite that every connector of package
// remote passes against a real server: what a session promises, checked from
// outside, on files that the test itself puts where the server serves them.
package remotetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

// Fixture is a server under test.
type Fixture struct {
	// Root is the local directory that the server serves as the base.
	Root string
	// Config reaches it.
	Config remote.Config
	// Precision of the times that listings of .zip files show.
	Precision time.Duration
}

// Run runs the suite; start makes a server with an empty root.
func Run(t *testing.T, start func(t *testing.T) Fixture) {
	for name, test := range map[string]func(*testing.T, *world){
		"lists what is there":               listsWhatIsThere,
		"lists strange names":               listsStrangeNames,
		"lists what nobody should serve":    listsWhatNobodyShouldServe,
		"lists many entries once each":      listsMany,
		"missing directory is not exist":    missingDirectory,
		"error of yield ends the listing":   yieldError,
		"delivers every size":               deliversEverySize,
		"delivers what is there":            deliversWhatIsThere,
		"stat agrees with list":             statAgrees,
		"vanished file is not exist":        vanished,
		"early close leaves session usable": earlyClose,
		"several at once":                   severalAtOnce,
		"never leaves the base":             neverLeaves,
		"cancelled is cancelled":            cancelled,
		"closed session refuses":            closedRefuses,
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s, err := remote.Dial(t.Context(), f.Config)
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, &world{Fixture: f, s: s})
		})
	}
}

type world struct {
	Fixture
	s remote.Session
}

// moment is a time in the past with nothing but seconds, as all servers keep.
var moment = time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)

func (w *world) put(t *testing.T, name string, data []byte) {
	t.Helper()
	p := filepath.Join(w.Root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p, moment, moment); err != nil {
		t.Fatal(err)
	}
}

func (w *world) list(t *testing.T, dir string) map[string]remote.Entry {
	t.Helper()
	got := map[string]remote.Entry{}
	err := w.s.List(t.Context(), dir, func(e remote.Entry) error {
		if _, twice := got[e.Name]; twice {
			t.Errorf("%q is listed twice", e.Name)
		}
		got[e.Name] = e
		return nil
	})
	if err != nil {
		t.Fatalf("list %q: %v", dir, err)
	}
	return got
}

// fetch reads a file by io.Copy, as the download stage does, and again by plain
// reads, and returns what both delivered.
func (w *world) fetch(t *testing.T, name string, hint int64) []byte {
	t.Helper()
	var copied bytes.Buffer
	r := w.open(t, name, hint)
	if _, err := io.Copy(&copied, r); err != nil {
		t.Errorf("copy %q: %v", name, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close %q: %v", name, err)
	}
	r = w.open(t, name, hint)
	read, err := io.ReadAll(struct{ io.Reader }{r})
	if err != nil {
		t.Errorf("read %q: %v", name, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close %q: %v", name, err)
	}
	if !bytes.Equal(copied.Bytes(), read) {
		t.Errorf("%q: copying gave %d bytes, reading %d others", name, copied.Len(), len(read))
	}
	return read
}

func (w *world) open(t *testing.T, name string, hint int64) io.ReadCloser {
	t.Helper()
	r, err := w.s.Open(t.Context(), name, hint)
	if err != nil {
		t.Fatalf("open %q: %v", name, err)
	}
	return r
}

// noise is data in which a hole or a swap shows.
func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8(sha256.Sum256([]byte(fmt.Sprint(n))))
	_, _ = rng.Read(b)
	return b
}

func listsWhatIsThere(t *testing.T, w *world) {
	w.put(t, "add/one.zip", noise(10))
	w.put(t, "add/TWO.ZIP", noise(70_000))
	w.put(t, "add/empty.zip", nil)
	w.put(t, "add/inner.zip/x", nil)
	if err := os.Symlink("one.zip", filepath.Join(w.Root, "add/link.zip")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(w.Root, "add/dangling.zip")); err != nil {
		t.Fatal(err)
	}
	file := func(size int64) remote.Entry {
		return remote.Entry{Size: size, ModTime: moment, Precision: w.Precision, Kind: remote.File}
	}
	got := w.list(t, "add")
	for name, e := range got {
		e.Name = ""
		if e.Kind != remote.File {
			// Size and time of these tell nothing.
			e = remote.Entry{Kind: e.Kind}
		}
		got[name] = e
	}
	want := map[string]remote.Entry{
		"one.zip": file(10), "TWO.ZIP": file(70_000), "empty.zip": file(0),
		"inner.zip": {Kind: remote.Dir}, "link.zip": {Kind: remote.Other}, "dangling.zip": {Kind: remote.Other},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
	if base := w.list(t, ""); base["add"].Kind != remote.Dir || len(base) != 1 {
		t.Errorf("base lists %v, want the directory add alone", base)
	}
	if err := os.Mkdir(filepath.Join(w.Root, "nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := w.list(t, "nothing"); len(got) != 0 {
		t.Errorf("empty directory lists %v", got)
	}
}

// strangeNames are all fetchable: names are bytes.
var strangeNames = []string{
	"with space.zip", " leading.zip", "-dash.zip", "--help.zip", "quote'\".zip", "star*?[a].zip", "back\\slash.zip",
	"20240101000000 time.zip", "caf\u00e9.zip", "cafe\u0301.zip", "latin-\xe9.zip", "%2e%2e.zip", "arrow -> x.zip",
	"Jan 1 10:00 x.zip", "semi;colon=1; y.zip", strings.Repeat("n", 251) + ".zip",
}

func listsStrangeNames(t *testing.T, w *world) {
	for _, n := range strangeNames {
		w.put(t, "odd dir/"+n, []byte(n))
	}
	got := w.list(t, "odd dir")
	if len(got) != len(strangeNames) {
		t.Errorf("%d entries, want %d", len(got), len(strangeNames))
	}
	for _, n := range strangeNames {
		e, ok := got[n]
		if !ok || e.Kind != remote.File || e.Size != int64(len(n)) || !e.ModTime.Equal(moment) {
			t.Errorf("%q: %+v (listed: %v)", n, e, ok)
			continue
		}
		if data := w.fetch(t, "odd dir/"+n, e.Size); string(data) != n {
			t.Errorf("%q delivers %q", n, data)
		}
	}
}

// listsWhatNobodyShouldServe holds what every protocol promises of a directory
// that somebody has made to harm: each entry can be stored, none leads
// elsewhere, and the good file beside them is there and can be had.
func listsWhatNobodyShouldServe(t *testing.T, w *world) {
	w.put(t, "add/good.zip", []byte("good"))
	hostile := []string{"esc\x1b[31m.zip", "bell\a.zip", "rtl\u202egpj.zip", "c1\u009b.zip", "bad\xff.zip", "two\nlines.zip", "cr\rDELE.zip", "'; DROP TABLE x; --.zip",
		"${jndi:ldap:x}.zip", "=cmd|'x'!A1.zip", "<script>.zip", strings.Repeat("L", 251) + ".zip", "-rw-r--r-- 1 u g 9 Jan 1 2020 x.zip", "type=file;size=9; x.zip"}
	for _, n := range hostile {
		w.put(t, "add/"+n, nil)
	}
	for i, year := range []int{-290000, -1, 0, 1, 1900, 1969, 2039, 2107, 9999, 10000, 290000} {
		name := filepath.Join(w.Root, fmt.Sprintf("add/year%d.zip", i))
		w.put(t, "add/"+filepath.Base(name), nil)
		// A file system that can't hold the year keeps another.
		_ = os.Chtimes(name, moment, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	for link, target := range map[string]string{"loop.zip": "loop.zip", "up.zip": "..", "etc.zip": "/etc/passwd", "good2.zip": "good.zip"} {
		if err := os.Symlink(target, filepath.Join(w.Root, "add", link)); err != nil {
			t.Fatal(err)
		}
	}
	files := 0
	for name, e := range w.list(t, "add") {
		if year := e.ModTime.Year(); len(name) > remote.MaxName || e.Size < -1 || year < 1 || year > 9999 || e.ModTime.Location() != time.UTC {
			t.Errorf("%q can't be stored: %+v", name, e)
		}
		if (e.Invalid == "") != (e.Message == "") {
			t.Errorf("%q is invalid as %q, which means %q", name, e.Invalid, e.Message)
		}
		if e.Kind == remote.File {
			files++
			if strings.ContainsAny(name, "/\x00") {
				t.Errorf("%q is a file", name)
			}
		}
		if slices.Contains([]string{"loop.zip", "up.zip", "etc.zip", "good2.zip"}, name) && e.Kind != remote.Other {
			t.Errorf("the link %q is a %s", name, e.Kind)
		}
	}
	if files < 1+len(hostile)-3 {
		t.Errorf("%d files are listed, which is too few", files)
	}
	if got := w.fetch(t, "add/good.zip", 4); string(got) != "good" {
		t.Errorf("the good file delivers %q", got)
	}
}

func listsMany(t *testing.T, w *world) {
	const n = 3000
	for i := range n {
		w.put(t, fmt.Sprintf("add/%05d.xml", i), nil)
	}
	got := w.list(t, "add")
	if len(got) != n {
		t.Errorf("%d entries, want %d", len(got), n)
	}
}

func missingDirectory(t *testing.T, w *world) {
	w.put(t, "add/x.zip", nil)
	for _, dir := range []string{"delete", "a/b/c", "add/x.zip/y"} {
		err := w.s.List(t.Context(), dir, func(remote.Entry) error { return nil })
		if !errors.Is(err, fs.ErrNotExist) || remote.Exception(err) != "file_gone" && dir != "add/x.zip/y" {
			if dir == "add/x.zip/y" && err != nil {
				continue
			}
			t.Errorf("list %q: %v (%s), want not exist", dir, err, remote.Exception(err))
		}
	}
	if len(w.list(t, "add")) != 1 {
		t.Error("session lists wrongly after a missing directory")
	}
}

func yieldError(t *testing.T, w *world) {
	for i := range 500 {
		w.put(t, fmt.Sprintf("add/%05d.xml", i), nil)
	}
	own := errors.New("own")
	seen := 0
	err := w.s.List(t.Context(), "add", func(remote.Entry) error {
		seen++
		return own
	})
	if !errors.Is(err, own) || seen != 1 {
		t.Errorf("list: %v after %d entries, want yield's own error after one", err, seen)
	}
	if got := len(w.list(t, "add")); got != 500 {
		t.Errorf("afterwards %d entries, want 500", got)
	}
}

var sizes = []int{0, 1, 20_000, 32 << 10, 32<<10 + 1, 128 << 10, 128<<10 + 1, 3 << 20}

func deliversEverySize(t *testing.T, w *world) {
	for _, n := range sizes {
		data := noise(n)
		w.put(t, "add/f.zip", data)
		if got := w.fetch(t, "add/f.zip", int64(n)); !bytes.Equal(got, data) {
			t.Errorf("size %d: %d bytes, or others", n, len(got))
		}
	}
}

func deliversWhatIsThere(t *testing.T, w *world) {
	for _, n := range sizes {
		data := noise(n)
		w.put(t, "add/f.zip", data)
		for _, hint := range []int64{-1, 0, 1, int64(n) - 1, int64(n) + 1, int64(n) + 100_000} {
			if got := w.fetch(t, "add/f.zip", max(hint, -1)); !bytes.Equal(got, data) {
				t.Errorf("size %d, hint %d: %d bytes, or others", n, hint, len(got))
			}
		}
	}
}

func statAgrees(t *testing.T, w *world) {
	w.put(t, "add/a.zip", noise(5))
	w.put(t, "add/b.zip", noise(50_000))
	for name, listed := range w.list(t, "add") {
		got, err := w.s.Stat(t.Context(), "add/"+name)
		if err != nil {
			t.Fatalf("stat %q: %v", name, err)
		}
		if diff := cmp.Diff(listed, got); diff != "" {
			t.Errorf("stat %q (-list +stat):\n%s", name, diff)
		}
	}
	if e, err := w.s.Stat(t.Context(), "add"); err != nil || e.Kind != remote.Dir || e.Name != "add" {
		t.Errorf("stat of a directory: %+v, %v", e, err)
	}
}

func vanished(t *testing.T, w *world) {
	w.put(t, "add/a.zip", noise(5))
	w.put(t, "add/b.zip", noise(5))
	listed := w.list(t, "add")
	if err := os.Remove(filepath.Join(w.Root, "add/a.zip")); err != nil {
		t.Fatal(err)
	}
	for _, hint := range []int64{listed["a.zip"].Size, 10 << 20} {
		_, err := w.s.Open(t.Context(), "add/a.zip", hint)
		if !errors.Is(err, fs.ErrNotExist) || remote.Exception(err) != "file_gone" || remote.SessionLost(err) {
			t.Errorf("open: %v (%s), want file_gone", err, remote.Exception(err))
		}
	}
	if _, err := w.s.Stat(t.Context(), "add/a.zip"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v, want not exist", err)
	}
	if got := w.fetch(t, "add/b.zip", 5); len(got) != 5 {
		t.Errorf("the next file delivers %d bytes, want 5", len(got))
	}
}

func earlyClose(t *testing.T, w *world) {
	w.put(t, "add/big.zip", noise(2<<20))
	w.put(t, "add/a.zip", noise(5))
	for range 3 * max(1, w.s.Concurrency()) {
		r := w.open(t, "add/big.zip", 2<<20)
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Error("reading after close works")
		}
		if err := r.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	}
	if got := w.fetch(t, "add/a.zip", 5); len(got) != 5 {
		t.Errorf("the next file delivers %d bytes, want 5", len(got))
	}
}

func severalAtOnce(t *testing.T, w *world) {
	const n = 64
	for i := range n {
		w.put(t, fmt.Sprintf("add/%d.zip", i), noise(1+i*6000))
	}
	var wg sync.WaitGroup
	// More than the session serves at a time: the others wait.
	for i := range n {
		wg.Go(func() {
			want := noise(1 + i*6000)
			r, err := w.s.Open(t.Context(), fmt.Sprintf("add/%d.zip", i), int64(len(want)))
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			defer r.Close()
			var got bytes.Buffer
			if _, err := io.Copy(&got, r); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d: %d bytes of %d, %v", i, got.Len(), len(want), err)
			}
		})
	}
	wg.Wait()
}

func neverLeaves(t *testing.T, w *world) {
	secret := filepath.Join(filepath.Dir(w.Root), "secret.zip")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"../secret.zip", "add/../../secret.zip", "..", "a\x00b"} {
		if r, err := w.s.Open(t.Context(), p, 6); err == nil {
			_ = r.Close()
			t.Errorf("open %q works", p)
		}
		if _, err := w.s.Stat(t.Context(), p); err == nil {
			t.Errorf("stat %q works", p)
		}
		if err := w.s.List(t.Context(), p, func(remote.Entry) error { return nil }); err == nil {
			t.Errorf("list %q works", p)
		}
	}
}

func cancelled(t *testing.T, w *world) {
	w.put(t, "add/a.zip", noise(5))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []string
	if _, err := w.s.Open(ctx, "add/a.zip", 5); err != nil {
		got = append(got, remote.Exception(err))
	}
	if err := w.s.List(ctx, "add", func(remote.Entry) error { return nil }); err != nil {
		got = append(got, remote.Exception(err))
	}
	if want := []string{"cancelled", "cancelled"}; !slices.Equal(got, want) {
		t.Errorf("exceptions %v, want %v", got, want)
	}
}

func closedRefuses(t *testing.T, w *world) {
	w.put(t, "add/a.zip", noise(5))
	for range 2 {
		if err := w.s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if _, err := w.s.Open(t.Context(), "add/a.zip", 5); err == nil {
		t.Error("open works after close")
	}
	if err := w.s.List(t.Context(), "add", func(remote.Entry) error { return nil }); err == nil {
		t.Error("list works after close")
	}
}
