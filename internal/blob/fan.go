package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// fanDir is an open fan-out directory.
type fanDir struct {
	*os.Root
	handle *os.File // of the directory itself, for Sync
}

// Close closes both.
func (f *fanDir) Close() error { return errors.Join(f.Root.Close(), f.handle.Close()) }

// fan returns the fan-out directory of a blob; fs.ErrNotExist by errors.Is
// where there is none, unless it is to be made. One that is made is durable
// when fan returns.
func (d *Dir) fan(sha string, create bool) (*fanDir, error) { return d.sub(sha[:2], create) }

// sub is fan for any of the directories by their names.
func (d *Dir) sub(name string, create bool) (*fanDir, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.fans[name]; f != nil {
		if !create || d.holds(name, f) {
			return f, nil
		}
		delete(d.fans, name)
	}
	root, err := d.root.OpenRoot(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err = d.makeFans(); err == nil {
			root, err = d.root.OpenRoot(name)
		}
	}
	if err != nil {
		return nil, err
	}
	handle, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f := &fanDir{root, handle}
	d.fans[name] = f
	return f, nil
}

// in calls f with the fan-out directory of a blob. Where that lacks the blob and
// was taken away since it was opened, and perhaps made anew by another process,
// it is opened again.
func (d *Dir) in(sha string, f func(*fanDir) error) error {
	dir, err := d.fan(sha, false)
	if err == nil {
		err = f(dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir != nil && d.replaced(sha[:2], dir) {
		if dir, err = d.fan(sha, false); err == nil {
			err = f(dir)
		}
	}
	return d.missing(err)
}

// replaced tells whether an open directory is not the one of that name any more,
// and forgets it then. Who uses it meanwhile finds what is in it.
func (d *Dir) replaced(name string, f *fanDir) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds(name, f) {
		return false
	}
	d.drop(name, f)
	return true
}

// forget has a directory opened again that was open as f.
func (d *Dir) forget(name string, f *fanDir) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(name, f)
}

func (d *Dir) drop(name string, f *fanDir) {
	if d.fans[name] == f {
		delete(d.fans, name)
	}
}

// holds tells whether the directory of that name is the open one.
func (d *Dir) holds(name string, f *fanDir) bool {
	is, err := d.root.Lstat(name)
	if err != nil {
		return false
	}
	open, err := f.handle.Stat()
	return err == nil && os.SameFile(is, open)
}

// makeFans creates all fan-out directories that are missing, so that they survive a crash:
// one after the other, each would take an fsync of its own.
func (d *Dir) makeFans() error {
	for i := range 256 {
		if err := d.root.Mkdir(fmt.Sprintf("%02x", i), 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	top, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(top.Sync(), top.Close())
}
