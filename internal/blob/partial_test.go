package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
)

// noise is data in which a hole or a swap shows.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// begin writes the beginning of a blob.
func begin(t *testing.T, d *blob.Dir, data []byte) blob.Writer {
	t.Helper()
	w, err := d.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	return w
}

func partialsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, name := range files(t, dir) {
		if strings.Contains(name, "partial-") {
			names = append(names, name)
		}
	}
	return names
}

func TestABlobGoesOnFromItsBeginning(t *testing.T) {
	dir, data := t.TempDir(), noise(3<<20)
	about := blob.Partial{Size: int64(len(data)), ModTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Version: `"abc"`}
	k := open(t, dir).Partials(1 << 30)
	if err := k.Keep("key", begin(t, open(t, dir), data[:2<<20]), about); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Resume(t.Context(), "another", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another key: %v", err)
	}
	// Another process goes on.
	reads := 0
	k = open(t, dir).Partials(1 << 30)
	w, p, err := k.Resume(t.Context(), "key", func() { reads++ })
	if err != nil {
		t.Fatal(err)
	}
	tail, hash := p.Tail, p.SHA256
	if p.Tail, p.SHA256 = nil, ""; p.Bytes != 2<<20 || !bytes.Equal(tail, data[2<<20-64<<10:2<<20]) || len(hash) != 64 || reads < 2 {
		t.Errorf("it has %d bytes, %d at its end, hash %q, read %d times", p.Bytes, len(tail), hash, reads)
	}
	about.Bytes = 2 << 20
	if diff := cmp.Diff(about, p); diff != "" {
		t.Errorf("it is known as (- want, + got):\n%s", diff)
	}
	if _, _, err := k.Resume(t.Context(), "key", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is given to two: %v", err)
	}
	if _, err := w.Write(data[2<<20:]); err != nil {
		t.Fatal(err)
	}
	got, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	want := begin(t, open(t, t.TempDir()), data).Ref()
	if got != want {
		t.Errorf("the blob is %v, want %v", got, want)
	}
	if err := blob.Verify(t.Context(), open(t, dir), want.SHA256); err != nil {
		t.Error(err)
	}
	if left := files(t, filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// What is not what was kept is never taken up, and thrown away.
func TestWhatIsNotWhatWasKept(t *testing.T) {
	change := func(at int) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data[(at+len(data))%len(data)] ^= 1
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(n int64) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			if err := os.Truncate(file, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, file string){
		"first byte": change(0), "in the middle": change(1 << 20), "its description": change(-20), "the description's length": change(-1),
		"cut": cut(1 << 20), "nearly nothing left": cut(2), "nothing left": cut(0),
		"a day old": func(t *testing.T, file string) {
			old := time.Now().Add(-25 * time.Hour)
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, dir)
			k := d.Partials(1 << 30)
			if err := k.Keep("key", begin(t, d, noise(2<<20)), blob.Partial{Size: 3 << 20}); err != nil {
				t.Fatal(err)
			}
			damage(t, partialsIn(t, dir)[0])
			if _, _, err := k.Resume(t.Context(), "key", nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is taken up: %v", err)
			}
			if left := files(t, dir); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	k := d.Partials(5 << 20)
	keep := func(key string, n int) {
		t.Helper()
		if err := k.Keep(key, begin(t, d, noise(n)), blob.Partial{}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(key string) bool {
		w, p, err := k.Resume(t.Context(), key, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err == nil {
			if err := k.Keep(key, w, p); err != nil {
				t.Fatal(err)
			}
		}
		return err == nil
	}
	keep("small", blob.LeastPartial-1)
	keep("large", 6<<20)
	if kept("small") || kept("large") || len(files(t, dir)) != 0 {
		t.Errorf("what is too small, or too large, is kept: %v", files(t, dir))
	}
	for i := range 3 {
		keep(fmt.Sprint(i), 2<<20)
		at := time.Now().Add(time.Duration(i-10) * time.Minute) // the order doesn't hang on the clock's steps
		for _, name := range partialsIn(t, dir) {
			if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) < 30*time.Second {
				if err := os.Chtimes(name, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if kept("0") || !kept("1") || !kept("2") {
		t.Errorf("kept: %v %v %v, want all but the oldest", kept("0"), kept("1"), kept("2"))
	}
	if dropped, err := k.Drop(); err != nil || !dropped || kept("1") || kept("2") {
		t.Errorf("dropped: %v (%v)", dropped, err)
	}
	if dropped, err := k.Drop(); err != nil || dropped {
		t.Errorf("dropped again: %v (%v)", dropped, err)
	}
}

// A transfer is cut by its context's end, too; what the disk refused is not kept.
func TestWhatACutLeaves(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := d.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(noise(2 << 20)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Write([]byte("more")); !errors.Is(err, context.Canceled) {
		t.Fatalf("write: %v", err)
	}
	if err := d.Partials(1<<30).Keep("key", w, blob.Partial{}); err != nil {
		t.Fatal(err)
	}
	if w, p, err := d.Partials(1<<30).Resume(t.Context(), "key", nil); err != nil || p.Bytes != 2<<20 {
		t.Errorf("kept: %+v, %v", p, err)
	} else if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if none := d.Partials(0); none != nil {
		t.Error("some are kept where none may be")
	} else if err := none.Keep("key", begin(t, d, noise(2<<20)), blob.Partial{}); err != nil || len(files(t, dir)) != 0 {
		t.Errorf("keep none: %v, left %v", err, files(t, dir))
	}
}
