package remotetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

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
		got.Attributes = nil // a listing may show fewer
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
