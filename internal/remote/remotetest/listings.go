package remotetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

func listsWhatIsThere(t *testing.T, w *world) {
	w.put(t, "add/one.zip", noise(10))
	w.put(t, "add/TWO.ZIP", noise(70_000))
	w.put(t, "add/empty.zip", nil)
	w.put(t, "add/inner.zip/x", nil)
	w.link(t, "one.zip", "add/link.zip")
	w.link(t, "nowhere", "add/dangling.zip")
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
	if w.EmptyUnknown {
		want["empty.zip"] = file(-1)
	}
	if w.Links != LinksShown {
		delete(want, "dangling.zip")
	}
	if w.Links == LinksHidden {
		delete(want, "link.zip")
	}
	if w.Links == LinksFollowed {
		want["link.zip"] = file(10)
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
	if w.KeysOnly {
		if err := w.s.List(t.Context(), "nothing", func(remote.Entry) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory without a key: %v", err)
		}
		return
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
	names := strangeNames
	if w.KeysOnly {
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !utf8.ValidString(n) })
	}
	if w.NoBackslash {
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.Contains(n, `\`) })
	}
	for _, n := range names {
		w.put(t, "odd dir/"+n, []byte(n))
	}
	got := w.list(t, "odd dir")
	if len(got) != len(names) {
		t.Errorf("%d entries, want %d", len(got), len(names))
	}
	for _, n := range names {
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
		w.link(t, target, "add/"+link)
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
		if slices.Contains([]string{"loop.zip", "up.zip", "etc.zip", "good2.zip"}, name) && e.Kind != remote.Other && w.Links != LinksFollowed {
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
