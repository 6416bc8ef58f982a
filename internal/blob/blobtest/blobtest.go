// Package blobtest is the conformance suite of blob stores: every
// implementation of blob.Store passes it.
package blobtest

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
)

// Run runs the suite; open makes an empty store.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for name, test := range map[string]func(*testing.T, blob.Store){
		"keeps what is put":             keeps,
		"same content is one blob":      sameContent,
		"uncommitted is invisible":      uncommitted,
		"aborted is gone":               aborted,
		"done is done":                  done,
		"missing is not exist":          missing,
		"bad names are refused":         badNames,
		"removed is gone":               removed,
		"open blob outlives removal":    outlives,
		"list stops at the first error": listStops,
		"cancelled refuses":             cancelled,
		"many at once":                  manyAtOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func refOf(data []byte) blob.Ref {
	s, m := sha256.Sum256(data), md5.Sum(data)
	return blob.Ref{SHA256: hex.EncodeToString(s[:]), MD5: hex.EncodeToString(m[:]), Size: int64(len(data))}
}

func put(t *testing.T, s blob.Store, data []byte) blob.Ref {
	t.Helper()
	ref, err := blob.Put(t.Context(), s, bytes.NewReader(data))
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	return ref
}

func listed(t *testing.T, s blob.Store) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	if err := s.List(t.Context(), func(sha string, size int64) error { got[sha] = size; return nil }); err != nil {
		t.Fatalf("list: %v", err)
	}
	return got
}

func keeps(t *testing.T, s blob.Store) {
	want := map[string]int64{}
	for _, n := range []int{0, 1, 1000, 1 << 20} {
		data := bytes.Repeat([]byte{byte(n), 'x'}, n)
		ref := put(t, s, data)
		if diff := cmp.Diff(refOf(data), ref); diff != "" {
			t.Errorf("%d bytes: ref (-want +got):\n%s", n, diff)
		}
		want[ref.SHA256] = ref.Size
		got, err := ReadAll(t.Context(), s, ref.SHA256, ref.Size)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: read %d, %v", n, len(got), err)
		}
		if size, err := s.Stat(t.Context(), ref.SHA256); err != nil || size != ref.Size {
			t.Errorf("%d bytes: stat %d, %v", n, size, err)
		}
		if _, err := ReadAll(t.Context(), s, ref.SHA256, ref.Size-1); err == nil {
			t.Errorf("%d bytes: read beyond the limit", n)
		}
	}
	if diff := cmp.Diff(want, listed(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func sameContent(t *testing.T, s blob.Store) {
	a, b := put(t, s, []byte("same")), put(t, s, []byte("same"))
	if a != b || len(listed(t, s)) != 1 {
		t.Errorf("refs %v and %v, %d blobs; want one", a, b, len(listed(t, s)))
	}
}

func begin(t *testing.T, s blob.Store, text string) blob.Writer {
	t.Helper()
	w, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	return w
}

func uncommitted(t *testing.T, s blob.Store) {
	w := begin(t, s, "half")
	if got := listed(t, s); len(got) != 0 {
		t.Errorf("list shows %v before commit", got)
	}
	if _, err := s.Open(t.Context(), refOf([]byte("half")).SHA256); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open before commit: %v", err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, s); len(got) != 1 {
		t.Errorf("list shows %v after commit", got)
	}
}

func aborted(t *testing.T, s blob.Store) {
	w := begin(t, s, "half")
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); !errors.Is(err, blob.ErrDone) {
		t.Errorf("commit after abort: %v", err)
	}
	if got := listed(t, s); len(got) != 0 {
		t.Errorf("list shows %v", got)
	}
}

func done(t *testing.T, s blob.Store) {
	w := begin(t, s, "whole")
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, blob.ErrDone) {
		t.Errorf("write after commit: %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("abort after commit: %v", err)
	}
	if got, err := ReadAll(t.Context(), s, ref.SHA256, 100); err != nil || string(got) != "whole" {
		t.Errorf("read: %q, %v", got, err)
	}
}

func missing(t *testing.T, s blob.Store) {
	sha := strings.Repeat("ab", 32)
	if _, err := s.Open(t.Context(), sha); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
	if _, err := s.Stat(t.Context(), sha); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if err := s.Remove(t.Context(), sha); err != nil {
		t.Errorf("remove: %v", err)
	}
}

func badNames(t *testing.T, s blob.Store) {
	for _, name := range []string{"", "..", "../../../etc/passwd", strings.Repeat("AB", 32), strings.Repeat("/", 64), strings.Repeat("a", 63)} {
		if b, err := s.Open(t.Context(), name); err == nil {
			_ = b.Close()
			t.Errorf("open %q works", name)
		}
		if _, err := s.Stat(t.Context(), name); err == nil {
			t.Errorf("stat %q works", name)
		}
		if err := s.Remove(t.Context(), name); err == nil {
			t.Errorf("remove %q works", name)
		}
	}
}

func removed(t *testing.T, s blob.Store) {
	a, b := put(t, s, []byte("a")), put(t, s, []byte("b"))
	if err := s.Remove(t.Context(), a.SHA256); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{b.SHA256: 1}, listed(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if put(t, s, []byte("a")) != a {
		t.Error("put again gives another ref")
	}
}

func outlives(t *testing.T, s blob.Store) {
	ref := put(t, s, []byte("content"))
	b, err := s.Open(t.Context(), ref.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := s.Remove(t.Context(), ref.SHA256); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
	if err != nil || string(got) != "content" {
		t.Errorf("read: %q, %v", got, err)
	}
}

func listStops(t *testing.T, s blob.Store) {
	for i := range 10 {
		put(t, s, fmt.Append(nil, i))
	}
	own, calls := errors.New("own"), 0
	err := s.List(t.Context(), func(string, int64) error { calls++; return own })
	if err != own || calls != 1 {
		t.Errorf("list: %v after %d calls, want the caller's own error after one", err, calls)
	}
}

func cancelled(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Write([]byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Create(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("create: %v", err)
	}
}

func manyAtOnce(t *testing.T, s blob.Store) {
	const writers, contents = 8, 40
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range contents {
				data := fmt.Appendf(nil, "content %d", i)
				ref, err := blob.Put(t.Context(), s, bytes.NewReader(data))
				if err != nil || ref != refOf(data) {
					t.Errorf("put: %v, %v", ref, err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(listed(t, s)); got != contents {
		t.Errorf("%d blobs, want %d", got, contents)
	}
}

// ReadAll returns the content of a blob of at most limit bytes; a larger one is
// an error, so that nobody loads one into memory unawares.
func ReadAll(ctx context.Context, s blob.Store, sha256 string, limit int64) ([]byte, error) {
	b, err := s.Open(ctx, sha256)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Size() > limit {
		return nil, fmt.Errorf("blob %s has %d bytes, more than the limit of %d", sha256, b.Size(), limit)
	}
	data := make([]byte, b.Size())
	n, err := b.ReadAt(data, 0)
	if int64(n) == b.Size() {
		return data, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("read blob %s: %w", sha256, err)
}
