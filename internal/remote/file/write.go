package file

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
)

// localWriter changes files of a local directory.
type localWriter struct{ l *local }

func (l *local) Writer() writing.Writer { return localWriter{l} }

// Remove deletes a file.
func (w localWriter) Remove(_ context.Context, p string) error {
	lp, err := localPath(p)
	if err != nil {
		return err
	}
	return remote.Wrap("delete", p, w.l.root.Remove(lp))
}

// Move links the file to its new name, which the system refuses where there is
// something, and takes the old one away. Where that was cut off, both names are the one
// file. File systems without links are asked first.
func (w localWriter) Move(ctx context.Context, from, to string) error {
	a, err := localPath(from)
	if err != nil {
		return err
	}
	b, err := localPath(to)
	if err != nil {
		return err
	}
	err = w.l.root.Link(a, b)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrExist):
		was, errA := w.l.root.Lstat(a)
		is, errB := w.l.root.Lstat(b)
		if errA != nil || errB != nil || a == b || !os.SameFile(was, is) {
			return remote.Occupied(to)
		}
	case errors.Is(err, fs.ErrNotExist):
		return remote.Wrap("move", from, err)
	default:
		if err := remote.Vacant(ctx, to, w.l.Stat); err != nil {
			return err
		}
		return remote.Wrap("move", from, w.l.root.Rename(a, b))
	}
	return remote.Wrap("move", from, w.l.root.Remove(a))
}

// Mark makes an empty file.
func (w localWriter) Mark(_ context.Context, p string) error {
	lp, err := localPath(p)
	if err != nil {
		return err
	}
	f, err := w.l.root.OpenFile(lp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return remote.Wrap("mark", p, err)
	}
	return remote.Wrap("mark", p, f.Close())
}

// MakeDirectory makes a directory.
func (w localWriter) MakeDirectory(_ context.Context, p string) error {
	lp, err := localPath(p)
	if err != nil {
		return err
	}
	if err := w.l.root.Mkdir(lp, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return remote.Wrap("make directory", p, err)
	}
	return nil
}
