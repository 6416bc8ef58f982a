package chdb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A directory is lost when it is deleted, emptied or another, and not while the
// engine works in it.
func TestWatchDirectory(t *testing.T) {
	for name, x := range map[string]struct {
		change func(dir string) error
		lost   bool
	}{
		"worked in": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "metadata", "a.sql"), nil, 0o600) }, false},
		"deleted":   {os.RemoveAll, true},
		"emptied":   {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "metadata")) }, true},
		"another": {func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".old"), os.MkdirAll(filepath.Join(dir, "metadata"), 0o700))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "clickhouse")
			if err := os.MkdirAll(filepath.Join(dir, "metadata"), 0o700); err != nil {
				t.Fatal(err)
			}
			w, err := watchDirectory(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.lost(); err != nil {
				t.Errorf("before anything was changed: %v", err)
			}
			if err := x.change(dir); err != nil {
				t.Fatal(err)
			}
			if err := w.lost(); (err != nil) != x.lost {
				t.Errorf("lost: %v; want %t", err, x.lost)
			}
			if err := w.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
