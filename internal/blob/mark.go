package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Mark is the file in a store's directory that tells that it is the right one,
// and not, for example, the place where a disk should be mounted.
const Mark = ".tributary-blobs"

// markText is what the mark says to who finds it.
const markText = "This file tells that Tributary's blobs lie here, and not on a disk that isn't mounted. Keep it with them.\n"

// ErrNotMarked is matched by errors that mean that a directory lacks the mark of
// a store, so that what is missing there may lie elsewhere.
var ErrNotMarked = errors.New("not the blob store")

// Recognise tells whether the directory is the right store. It is if it has the
// mark. One without is given it if it holds one of the blobs that known returns,
// as a store from before there were marks does, or if there are none: a new
// system's. Otherwise the error matches ErrNotMarked and says what to do. From
// then on a blob that is missing is only taken for gone while the mark is there.
func (d *Dir) Recognise(ctx context.Context, known func(context.Context) ([]string, error)) error {
	marked, err := d.marked()
	if err != nil {
		return err
	}
	if !marked {
		names, err := known(ctx)
		if err != nil {
			return err
		}
		if mine, err := d.holdsOneOf(ctx, names); err != nil {
			return err
		} else if !mine {
			return d.notMarked()
		}
		if err := d.Begin(); err != nil {
			return err
		}
	}
	d.recognised.Store(true)
	return nil
}

func (d *Dir) holdsOneOf(ctx context.Context, names []string) (bool, error) {
	for _, name := range names {
		_, err := d.Stat(ctx, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return len(names) == 0, nil
}

// Begin marks the directory as the store.
func (d *Dir) Begin() error {
	f, err := d.root.OpenFile(Mark, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o440)
	if errors.Is(err, fs.ErrPermission) {
		if marked, merr := d.marked(); merr == nil && marked { // another process has just made it
			return nil
		}
	}
	if err != nil {
		return d.explain("mark the place of", err)
	}
	_, err = f.WriteString(markText)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return d.explain("mark the place of", err)
	}
	top, err := d.root.Open(".")
	if err != nil {
		return d.explain("mark the place of", err)
	}
	return errors.Join(top.Sync(), top.Close())
}

func (d *Dir) marked() (bool, error) {
	_, err := d.root.Lstat(Mark)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the mark of the blob store: %w", err)
	}
	return true, nil
}

// missing is the error of a blob that is not there; in a store that has lost its
// mark it may lie elsewhere.
func (d *Dir) missing(err error) error {
	if !d.recognised.Load() || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	marked, merr := d.marked()
	if merr != nil {
		return merr
	}
	if !marked {
		return d.notMarked()
	}
	return err
}

func (d *Dir) notMarked() error {
	return fmt.Errorf("%w: %s lacks the file %s, and the blobs that are known: is its disk mounted, and is blobs.dir right? "+
		"If the blobs are really lost, tributary blobs begin makes a new store there, and what sources still show is fetched again", ErrNotMarked, d.path, Mark)
}

// Holds tells whether a directory may be the store that holds some of the named
// blobs: it has the mark, or one of them, or there are none to be held. Nothing in it
// is changed, and a directory that is missing holds nothing.
func Holds(dir string, names []string) (bool, error) {
	paths := []string{filepath.Join(dir, Mark)}
	for _, name := range names {
		if err := valid(name); err != nil {
			return false, err
		}
		paths = append(paths, filepath.Join(dir, name[:2], name))
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return len(paths) == 1, nil
}
