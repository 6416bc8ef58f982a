package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// tmpDir holds what is being written.
	tmpDir = "tmp"
	// staleAfter is how old an unfinished file must be before it is taken for
	// what a crash left: other processes may be writing.
	staleAfter = 24 * time.Hour
)

// Dir is a store on a directory: <dir>/ab/<sha256>, and tmp for what is being
// written. Several processes may share it. 256 directories hold ten million
// blobs at 40,000 each, which file systems with indexed directories don't feel,
// and all of them can be kept open, so that a new blob seldom needs a new one.
type Dir struct {
	root *os.Root
	path string
	// recognised is set once the store is known to be the right one: then it is
	// told from one that is not when a blob is missing.
	recognised atomic.Bool

	// together brings blobs to their places.
	together *together

	mu sync.Mutex
	// fans holds the open fan-out directories, at most 256, and tmp, so that opening
	// a blob walks no path, and making one durable takes one fsync of a directory
	// and no opening of it.
	fans map[string]*fanDir
}

// NewDir opens the store and makes the directory where it is missing.
// Unfinished files older than a day are deleted. Close it at the end.
func NewDir(dir string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make blob directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open blob directory: %w", err)
	}
	d := &Dir{root: root, path: dir, fans: make(map[string]*fanDir)}
	if err := root.Mkdir(tmpDir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(fmt.Errorf("make blob directory: %w", err), root.Close())
	}
	if err := d.sweep(time.Now().Add(-staleAfter)); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	top, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open blob directory: %w", err), root.Close())
	}
	d.together = newTogether(top)
	return d, nil
}

// Close releases the directories. Blobs that are open stay readable.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := []error{d.root.Close(), d.together.top.Close()}
	for _, f := range d.fans {
		errs = append(errs, f.Close())
	}
	clear(d.fans)
	return errors.Join(errs...)
}

func (d *Dir) sweep(before time.Time) error {
	return eachEntry(d.root, tmpDir, func(de fs.DirEntry) error {
		info, err := de.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("sweep unfinished blobs: %w", err)
		}
		if info.Mode().IsRegular() && info.ModTime().Before(before) {
			if err := d.root.Remove(tmpDir + "/" + de.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("sweep unfinished blobs: %w", err)
			}
		}
		return nil
	})
}

// eachEntry calls f for the entries of a directory, a bounded number of them in
// memory at a time.
func eachEntry(root *os.Root, dir string, f func(fs.DirEntry) error) error {
	h, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer h.Close()
	for {
		entries, err := h.ReadDir(512)
		for _, de := range entries {
			if err := f(de); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func valid(sha string) error {
	if !Valid(sha) {
		return fmt.Errorf("blob name %q is not a lower-case hexadecimal sha256: %w", sha, fs.ErrNotExist)
	}
	return nil
}

// blobPath is where a blob lies: in one of 256 directories.
func blobPath(sha string) string { return sha[:2] + "/" + sha }

// Create begins a blob in tmp.
func (d *Dir) Create(ctx context.Context) (Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name := rand.Text()
	in, f, err := d.createTmp(name)
	if errors.Is(err, fs.ErrNotExist) { // somebody has emptied the store
		if err = d.root.Mkdir(tmpDir, 0o750); err == nil || errors.Is(err, fs.ErrExist) {
			d.forget(tmpDir, in)
			in, f, err = d.createTmp(name)
		}
	}
	if err != nil {
		return nil, d.explain("create", err)
	}
	return newWriter(ctx, d, f, in, name), nil
}

// createTmp makes a file in tmp. The directory is nil where it can't be opened.
func (d *Dir) createTmp(name string) (in *fanDir, f *os.File, err error) {
	if in, err = d.sub(tmpDir, false); err != nil {
		return nil, nil, err
	}
	f, err = in.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, blobMode)
	return in, f, err
}

// Open gives random access to a blob.
func (d *Dir) Open(ctx context.Context, sha string) (Blob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := valid(sha); err != nil {
		return nil, err
	}
	var f *os.File
	if err := d.in(sha, func(dir *fanDir) (err error) { f, err = dir.Open(sha); return err }); err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open blob: %w", err), f.Close())
	}
	return &file{File: f, size: info.Size()}, nil
}

type file struct {
	*os.File
	size int64
}

func (f *file) Size() int64 { return f.size }

// Stat returns the size of a blob in bytes.
func (d *Dir) Stat(ctx context.Context, sha string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := valid(sha); err != nil {
		return 0, err
	}
	var info fs.FileInfo
	if err := d.in(sha, func(dir *fanDir) (err error) { info, err = dir.Lstat(sha); return err }); err != nil {
		return 0, fmt.Errorf("stat blob: %w", err)
	}
	return info.Size(), nil
}

// List walks the fan-out. Blobs that come or go meanwhile may be missed.
func (d *Dir) List(ctx context.Context, f func(string, int64) error) error {
	err := eachEntry(d.root, ".", func(outer fs.DirEntry) error {
		if len(outer.Name()) != 2 || !outer.IsDir() {
			return nil
		}
		return d.listFan(ctx, outer.Name(), f)
	})
	var stop yieldError
	if errors.As(err, &stop) {
		return stop.error
	}
	if err != nil {
		return fmt.Errorf("list blobs: %w", err)
	}
	return nil
}

// yieldError keeps the caller's own error apart from the directory's.
type yieldError struct{ error }

func (d *Dir) listFan(ctx context.Context, dir string, f func(string, int64) error) error {
	return eachEntry(d.root, dir, func(de fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !Valid(de.Name()) {
			return nil
		}
		info, err := de.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(de.Name(), info.Size()); err != nil {
			return yieldError{err}
		}
		return nil
	})
}

// Remove deletes a blob.
func (d *Dir) Remove(ctx context.Context, sha string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := valid(sha); err != nil {
		return err
	}
	if err := d.root.Remove(blobPath(sha)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove blob: %w", err)
	}
	return nil
}

// explain turns the errors that operators can do something about into words.
func (d *Dir) explain(what string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: no space left on the disk of %s: free some or move the store (%s blob: %w)", ErrFull, d.path, what, err)
	case errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the disk quota of %s is used up (%s blob: %w)", ErrFull, d.path, what, err)
	}
	return fmt.Errorf("%s blob in %s: %w", what, filepath.Clean(d.path), strip(err))
}

// strip drops the random temporary name from an error, which helps nobody.
func strip(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && (strings.HasPrefix(pe.Path, tmpDir) || !strings.Contains(pe.Path, "/")) {
		return pe.Err
	}
	return err
}
