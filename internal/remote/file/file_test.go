package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tributary/internal/remote"
)

// unseen is a name that its file system shows, and of which it tells no more.
type unseen struct {
	fs.DirEntry
	err error
}

func (u unseen) Info() (fs.FileInfo, error) { return nil, u.err }

// A name that can't be looked at makes its listing fail: to pass over all names of a
// share whose server is gone would be an empty directory.
func TestNamesThatCantBeLookedAt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cause     error
		exception string
	}{
		{syscall.ESTALE, "connection_lost"},
		{syscall.EIO, "connection_lost"},
		{syscall.ENOTCONN, "connection_lost"},
		{syscall.EACCES, "permission_denied"},
		{syscall.ENOENT, ""}, // it is gone since
	} {
		_, shown, err := localEntry(unseen{all[0], &fs.PathError{Op: "lstat", Path: path, Err: tt.cause}})
		if got := remote.Exception(err); got != tt.exception || shown {
			t.Errorf("%v: %q, shown %v; expected is %q", tt.cause, got, shown, tt.exception)
		}
	}
	if e, shown, err := localEntry(all[0]); err != nil || !shown || e.Name != "a.zip" {
		t.Errorf("%+v %v %v", e, shown, err)
	}
}
