package blob_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tributary/internal/blob"
	"tributary/internal/blob/blobtest"
)

func open(t testing.TB, dir string) *blob.Dir {
	t.Helper()
	d, err := blob.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestDirConforms(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, t.TempDir()) })
}

// files returns the names of all files below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, de os.DirEntry, err error) error {
		if err == nil && !de.IsDir() {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestUnfinishedFilesAreSweptWhenOld(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for range 2 {
		w, err := d.Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("left by a crash")); err != nil {
			t.Fatal(err)
		}
	}
	left := files(t, dir)
	if len(left) != 2 {
		t.Fatalf("files %v, want two unfinished ones", left)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if got := files(t, dir); len(got) != 1 || got[0] != left[1] {
		t.Errorf("files %v, want only the young one %s", got, left[1])
	}
}

func TestStoreOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	ref, err := blob.Put(t.Context(), open(t, dir), bytes.NewReader([]byte("kept")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := blobtest.ReadAll(t.Context(), open(t, dir), ref.SHA256, 10)
	if err != nil || string(got) != "kept" {
		t.Errorf("read: %q, %v", got, err)
	}
	if all := files(t, dir); len(all) != 1 {
		t.Errorf("files %v, want one", all)
	}
}

func TestDamagedBlobIsReplaced(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	ref, err := blob.Put(t.Context(), d, bytes.NewReader([]byte("content")))
	if err != nil {
		t.Fatal(err)
	}
	name := files(t, dir)[0]
	if err := errors.Join(os.Chmod(name, 0o600), os.Truncate(name, 3)); err != nil {
		t.Fatal(err)
	}
	if again, err := blob.Put(t.Context(), d, bytes.NewReader([]byte("content"))); err != nil || again != ref {
		t.Fatalf("put again: %v, %v", again, err)
	}
	if got, err := blobtest.ReadAll(t.Context(), d, ref.SHA256, 10); err != nil || string(got) != "content" {
		t.Errorf("read: %q, %v", got, err)
	}
}

func TestSymlinkDoesNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	d := open(t, dir)
	ref, err := blob.Put(t.Context(), d, bytes.NewReader([]byte("content")))
	if err != nil {
		t.Fatal(err)
	}
	name := files(t, dir)[0]
	if err := errors.Join(os.Rename(name, filepath.Join(outside, "x")), os.Symlink(filepath.Join(outside, "x"), name)); err != nil {
		t.Fatal(err)
	}
	if b, err := d.Open(t.Context(), ref.SHA256); err == nil {
		_ = b.Close()
		t.Error("a symbolic link leads out of the store")
	}
}

func BenchmarkPut16K(b *testing.B) {
	d := open(b, b.TempDir())
	data := make([]byte, 16<<10)
	b.SetBytes(int64(len(data)))
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		own := bytes.Clone(data)
		for pb.Next() {
			_, _ = rand.Read(own[:32])
			if _, err := blob.Put(b.Context(), d, bytes.NewReader(own)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
