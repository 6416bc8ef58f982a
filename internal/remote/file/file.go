package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"tributary/internal/remote"
)

// localConcurrency is how many files of a local directory are worth reading at
// once; more only makes a disk seek.
const localConcurrency = 4

// local is a session on a directory of this machine. os.Root keeps it there,
// whatever symbolic links lie in it.
type local struct {
	root *os.Root
	// slots bounds the files that are open at once.
	slots chan struct{}
	// patience is how long is waited for an answer of the file system.
	patience time.Duration
}

func dial(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (remote.Session, error) {
	step("connect", "")
	root, err := soon(ctx, c.ConnectTimeout, func() (*os.Root, error) {
		root, err := os.OpenRoot(t.Base)
		if err == nil {
			return root, nil
		}
		if info, other := os.Stat(t.Base); other == nil && !info.IsDir() {
			err = syscall.ENOTDIR // the library's error is only text
		}
		return nil, err
	}, (*os.Root).Close)
	if err != nil {
		return nil, remote.Wrap("open directory", t.Base, err)
	}
	step("connect", t.Base)
	return &local{root: root, slots: make(chan struct{}, localConcurrency), patience: c.IdleTimeout}, nil
}

// soon asks the file system, and waits for its answer no longer than for a while: that of
// a network share whose server is gone may never come. Who asks waits for it all the
// same, by itself, and undoes what then has come.
func soon[T any](ctx context.Context, patience time.Duration, ask func() (T, error), undo func(T) error) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := ask()
		answers <- answer{value, err}
	}()
	over := time.NewTimer(patience)
	defer over.Stop()
	var err error
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-over.C:
		err = fmt.Errorf("the file system has not answered for %s, as where the server of a network share is gone: %w", patience, os.ErrDeadlineExceeded)
	}
	go func() {
		if late := <-answers; late.err == nil && undo != nil {
			_ = undo(late.value) // nobody is there to be told
		}
	}()
	var none T
	return none, err
}

func localPath(p string) (string, error) {
	p, err := remote.Join("/", p)
	if err != nil {
		return "", err
	}
	if p == "/" {
		return ".", nil
	}
	return p[1:], nil
}

func (l *local) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	p, err := localPath(dir)
	if err != nil {
		return err
	}
	f, err := soon(ctx, l.patience, func() (*os.File, error) { return l.root.Open(p) }, (*os.File).Close)
	if err != nil {
		return remote.Wrap("list", dir, err)
	}
	defer f.Close()
	for {
		if err := ctx.Err(); err != nil {
			return remote.Wrap("list", dir, err)
		}
		entries, err := soon(ctx, l.patience, func() ([]remote.Entry, error) { return localEntries(f) }, nil)
		for _, e := range entries {
			if err := yield(e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return remote.Wrap("list", dir, err)
		}
	}
}

// localEntries are the next of a directory, with what its end or an error comes after.
func localEntries(f *os.File) ([]remote.Entry, error) {
	names, err := f.ReadDir(256)
	entries := make([]remote.Entry, 0, len(names))
	for _, de := range names {
		e, ok, err := localEntry(de)
		if err != nil {
			return entries, err
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return entries, err
}

// localEntry describes one name; false when it vanished while being listed, which is the
// same as never having been there. That a name can't be looked at says nothing of it, but
// of its directory, which nobody may search, or of a share whose server is gone: what such
// a listing lacks may be there.
func localEntry(de fs.DirEntry) (remote.Entry, bool, error) {
	info, err := de.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return remote.Entry{}, false, nil
	}
	if err != nil {
		return remote.Entry{}, false, err
	}
	return remote.FileEntry(info, time.Nanosecond), true, nil
}

func (l *local) Stat(ctx context.Context, p string) (remote.Entry, error) {
	lp, err := localPath(p)
	if err != nil {
		return remote.Entry{}, err
	}
	info, err := soon(ctx, l.patience, func() (fs.FileInfo, error) { return l.root.Lstat(lp) }, nil)
	if err != nil {
		return remote.Entry{}, remote.Wrap("stat", p, err)
	}
	e := remote.FileEntry(info, time.Nanosecond)
	e.Name = path.Base(lp)
	return e, nil
}

func (l *local) Open(ctx context.Context, p string, _ int64) (io.ReadCloser, error) {
	return l.OpenAt(ctx, p, 0, "")
}

func (l *local) OpenAt(ctx context.Context, p string, offset int64, _ string) (io.ReadCloser, error) {
	lp, err := localPath(p)
	if err != nil {
		return nil, err
	}
	if err := remote.Acquire(ctx, l.slots); err != nil {
		return nil, remote.Wrap("open", p, err)
	}
	f, err := soon(ctx, l.patience, func() (*os.File, error) { return l.openRegular(lp, offset) }, (*os.File).Close)
	if err != nil {
		<-l.slots
		return nil, remote.Wrap("open", p, err)
	}
	return &localReader{ctx: ctx, f: f, path: p, free: func() { <-l.slots }}, nil
}

// openRegular looks before it opens, because opening a pipe waits for ever, and
// again afterwards, because the name may have changed in between.
func (l *local) openRegular(lp string, offset int64) (*os.File, error) {
	before, err := l.root.Lstat(lp)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("is not a regular file but %s", before.Mode().Type())
	}
	f, err := l.root.OpenFile(lp, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("was replaced while it was being opened")
	}
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (l *local) Concurrency() int { return localConcurrency }

func (l *local) Close() error { return l.root.Close() }

// localReader adds the context and the slot to a file.
type localReader struct {
	ctx  context.Context
	f    *os.File
	path string
	free func()
}

func (r *localReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, remote.Wrap("read", r.path, err)
	}
	n, err := r.f.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = remote.Wrap("read", r.path, err)
	}
	return n, err
}

func (r *localReader) Close() error {
	if r.free == nil {
		return nil
	}
	r.free()
	r.free = nil
	return r.f.Close()
}
