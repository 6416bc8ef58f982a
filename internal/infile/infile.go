// Package infile reads the small files that a configuration names: keys, certificates and
// secrets. Whoever defines a source names such files to members that run for months, so what
// is no plain file is refused: a device never ends, and a pipe that nobody writes to answers
// nobody.
package infile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Most is how many bytes such a file may have. It is fixed: it is several times what a system's
// own list of authorities has.
const Most = 4 << 20

// Open opens a plain file for reading, and never waits. The error is an [fs.PathError].
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no plain file")}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Read reads a plain file of at most [Most] bytes. The error is an [fs.PathError].
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, Most+1))
	if err == nil && len(text) > Most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", Most)}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
