// Package outfile writes files that people asked for: whole, or not at all.
package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrExists says that a file is there already and was not to be replaced.
var ErrExists = errors.New("is there already")

// Write makes the file path of what write writes. It is written beside its place,
// synced, and put there in one step: whoever reads path, or had a file there, never
// has a part of it, whatever ends the process. A file that is there is an error
// that is ErrExists, before write is called, unless replace is set; what is no
// file is never replaced. The file's mode is what the umask leaves of 0666.
func Write(path string, replace bool, write func(io.Writer) error) (err error) {
	if err := free(path, replace); err != nil {
		return err
	}
	f, err := beside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	buf := bufio.NewWriterSize(f, 1<<20)
	err = write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return place(f.Name(), path, replace)
}

// free refuses a path at which no file may be put.
func free(path string, replace bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file that another may replace", path)
	case !replace:
		return fmt.Errorf("%s %w", path, ErrExists)
	}
	return nil
}

// beside makes a new file in the folder of path, under a name of its own.
func beside(path string) (*os.File, error) {
	for try := range 100 {
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s-%d-%d", filepath.Base(path), os.Getpid(), try)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the umask decides who may read it
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("there are too many files .%s-* in %s: remove what is left of exports that were killed", filepath.Base(path), filepath.Dir(path))
}

// place gives a file its name.
func place(from, path string, replace bool) error {
	if replace {
		return os.Rename(from, path)
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%s %w", path, ErrExists)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		// This filesystem can't refuse by itself.
		if err := free(path, false); err != nil {
			return err
		}
		return os.Rename(from, path)
	case err != nil:
		return fmt.Errorf("put %s in its place: %w", path, err)
	}
	return nil
}
