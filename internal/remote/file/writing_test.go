package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/internal/remote/writing"
	"tributary/test/wait"
)

// Files of a directory are no server's, so nobody is asked before they are changed.
func TestLocalDirectoryIsWritten(t *testing.T) {
	remotetest.RunWriting(t, wait.Patience(), func(_ *testing.T, dir string) remotetest.Fixture {
		return remotetest.Fixture{Config: remote.Config{URL: "file://" + dir}, Ungated: true}
	})
}

// A move that was cut off between its two steps is done to its end.
func TestMovesThatWereCutOff(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	remotetest.Put(t, dir, "add/a.zip", "1")
	remotetest.Put(t, dir, "done/x", "")
	if err := os.Link(filepath.Join(dir, "add/a.zip"), filepath.Join(dir, "done/a.zip")); err != nil {
		t.Fatal(err)
	}
	_, w := remotetest.WriterOf(t, remote.Config{URL: "file://" + dir})
	if err := w.Move(t.Context(), "add/a.zip", "done/a.zip"); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{"done/a.zip": "1", "done/x": ""}, remotetest.Contents(t, dir)); d != "" {
		t.Errorf("(- want, + got):\n%s", d)
	}
}

// Nobody changes a server without leave.
func TestNobodyWritesWithoutLeave(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	s := remotetest.Dial(t, remote.Config{URL: "file://" + dir})
	if _, err := remote.Writing(s, writing.Permit{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without leave: %v", err)
	}
}
