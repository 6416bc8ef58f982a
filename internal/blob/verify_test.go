package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
