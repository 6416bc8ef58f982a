//go:build !wasip1

package sftp

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
)

// sftpWriter changes files by the library's own requests.
type sftpWriter struct{ s *sftpSession }

// Writer has the session take success for an answer from now on. Where a server gives
// it to what asks for more, the library panics, which ends the session.
func (s *sftpSession) Writer() writing.Writer {
	s.frames.changing.Store(true)
	return sftpWriter{s}
}

// do sends one request about a path, when the server may be asked.
func (w sftpWriter) do(ctx context.Context, op, p string, request func() error) error {
	answered, err := w.s.cfg.Asking(ctx)
	if err != nil {
		return w.s.fail(op, p, err)
	}
	defer answered()
	_, err = call(ctx, w.s, w.s.idle, func() (struct{}, error) { return struct{}{}, request() }, nil)
	return w.s.fail(op, p, err)
}

// Remove deletes a file.
func (w sftpWriter) Remove(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.base, p)
	if err != nil {
		return err
	}
	return w.do(ctx, "delete", p, func() error { return w.s.client.Remove(full) })
}

// Move renames a file. The protocol says that nothing is replaced, OpenSSH keeps to
// that, and others are asked first what is there.
func (w sftpWriter) Move(ctx context.Context, from, to string) error {
	a, b, err := remote.Between(w.s.base, from, to)
	if err != nil {
		return err
	}
	if err := remote.Vacant(ctx, to, w.s.Stat); err != nil {
		return err
	}
	if err = w.do(ctx, "move", from, func() error { return w.s.client.Rename(a, b) }); err != nil && !remote.SessionLost(err) {
		if _, there := w.s.Stat(ctx, to); there == nil {
			return remote.Occupied(to)
		}
	}
	return err
}

// Mark makes an empty file.
func (w sftpWriter) Mark(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.base, p)
	if err != nil {
		return err
	}
	err = w.do(ctx, "mark", p, func() error {
		f, err := w.s.client.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		return f.Close()
	})
	return w.unlessThere(ctx, p, err)
}

// MakeDirectory makes a directory.
func (w sftpWriter) MakeDirectory(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.base, p)
	if err != nil {
		return err
	}
	err = w.do(ctx, "make directory", p, func() error { return w.s.client.Mkdir(full) })
	return w.unlessThere(ctx, p, err)
}

// unlessThere is the error of what was to be made, unless it is there: servers say in
// many ways that something is.
func (w sftpWriter) unlessThere(ctx context.Context, p string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || remote.SessionLost(err) {
		return err
	}
	if _, there := w.s.Stat(ctx, p); there == nil {
		return nil
	}
	return err
}
