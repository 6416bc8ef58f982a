package plot

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A picture takes the place of the one before it at once: who reads the old one
// still has it whole. What can't be put there leaves nothing behind.
func TestPicturesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.svg")
	if err := ReplaceFile(path, []byte("the first")); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := ReplaceFile(path, []byte("the second")); err != nil {
		t.Fatal(err)
	}
	first, err := io.ReadAll(reader)
	if err != nil || string(first) != "the first" {
		t.Errorf("who read the first picture has %q, %v", first, err)
	}
	if second, err := os.ReadFile(path); err != nil || string(second) != "the second" {
		t.Errorf("the picture is %q, %v", second, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the picture is %v, %v", info.Mode(), err)
	}
	folder := filepath.Join(dir, "b.svg")
	if err := os.MkdirAll(filepath.Join(folder, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(folder, nil); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"a.svg", "b.svg"}, names); d != "" {
		t.Error(d)
	}
}
