package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	s, err := NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ref, err := Put(t.Context(), s, strings.NewReader(strings.Repeat("0123456789", 300_000))) // more than one read
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), s, ref.SHA256); err != nil {
		t.Errorf("a whole blob: %v", err)
	}
	if err := Verify(t.Context(), s, strings.Repeat("0", 64)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing blob: %v", err)
	}
	path := filepath.Join(dir, blobPath(ref.SHA256))
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"shorter": b[:len(b)-1], "empty": nil, "changed": append(append([]byte{}, b[:len(b)-1]...), 'x')} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Verify(t.Context(), s, ref.SHA256); !errors.Is(err, ErrDamaged) {
			t.Errorf("a blob that is %s: %v", name, err)
		}
	}
}

// What a small blob takes in memory to be compared with its name is small too: that is
// done whenever an archive or a document is read.
func TestSmallBlobsAreVerifiedInLittleMemory(t *testing.T) {
	s, err := NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ref, err := Put(t.Context(), s, strings.NewReader(strings.Repeat("0123456789", 500)))
	if err != nil {
		t.Fatal(err)
	}
	const times, most = 100, 64 << 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if err := Read(t.Context(), s, ref.SHA256, nil, func(Blob) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > most {
		t.Errorf("a blob of %d bytes takes %d bytes of memory to be read, more than %d", ref.Size, each, most)
	}
}
