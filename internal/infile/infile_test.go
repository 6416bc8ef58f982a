package infile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOnlyPlainFilesAreRead shows that neither a device without an end, nor a pipe that nobody
// writes to, is begun.
func TestOnlyPlainFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, plain, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "plain"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, []byte("a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plain, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/zero", "/dev/null"} {
		_, err := Read(path)
		var of *fs.PathError
		if !errors.As(err, &of) || of.Path != path || !strings.Contains(err.Error(), "no plain file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{plain, link} {
		if text, err := Read(path); err != nil || string(text) != "a key" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(plain, bytes.Repeat([]byte{'a'}, Most+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(plain); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("a long file: %v", err)
	}
}
