package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestFullDiskIsSaidInWords(t *testing.T) {
	d := &Dir{path: "/blobs"}
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		err := d.explain("write", &fs.PathError{Op: "write", Path: "tmp/X", Err: cause})
		if !errors.Is(err, ErrFull) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "/blobs") {
			t.Errorf("%v: %v", cause, err)
		}
	}
	if err := d.explain("write", fmt.Errorf("other")); errors.Is(err, ErrFull) {
		t.Errorf("another error counts as full: %v", err)
	}
}
