package ftp

import (
	"context"
	"strings"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
)

// ftpWriter changes files by commands on the control connection.
type ftpWriter struct{ s *ftpSession }

func (s *ftpSession) Writer() writing.Writer { return ftpWriter{s} }

// do sends the commands of one change, once the control connection is free and the
// server may be asked.
func (w ftpWriter) do(ctx context.Context, op, p string, commands func() error) error {
	release, err := w.s.acquire(ctx)
	if err != nil {
		return wrap(op, p, err)
	}
	defer release()
	answered, err := w.s.cfg.Asking(ctx)
	if err != nil {
		return w.s.fail(ctx, op, p, err)
	}
	defer answered()
	return w.s.fail(ctx, op, p, w.guarded(commands))
}

func (w ftpWriter) guarded(commands func() error) (err error) {
	defer w.s.guard(&err)
	return commands()
}

// Remove deletes a file.
func (w ftpWriter) Remove(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.base, p)
	if err != nil {
		return err
	}
	return w.do(ctx, "delete", p, func() error { return w.s.c.Delete(full) })
}

// Move renames a file. Servers replace what is there, so that is asked first; nothing
// closes the moment between.
func (w ftpWriter) Move(ctx context.Context, from, to string) error {
	a, b, err := remote.Between(w.s.base, from, to)
	if err != nil {
		return err
	}
	if err := remote.Vacant(ctx, to, w.s.Stat); err != nil {
		return err
	}
	return w.do(ctx, "move", from, func() error { return w.s.c.Rename(a, b) })
}

// Mark stores an empty file, unless there is one.
func (w ftpWriter) Mark(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.base, p)
	if err != nil {
		return err
	}
	if _, err := w.s.Stat(ctx, p); err == nil {
		return nil
	}
	return w.do(ctx, "mark", p, func() error { return w.s.c.Stor(full, strings.NewReader("")) })
}

// MakeDirectory makes a directory, unless there is one.
func (w ftpWriter) MakeDirectory(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.base, p)
	if err != nil {
		return err
	}
	if _, err := w.s.Stat(ctx, p); err == nil {
		return nil
	}
	return w.do(ctx, "make directory", p, func() error { return w.s.c.MakeDir(full) })
}
