package chdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lookEvery is how often the child looks whether its directory is still there.
const lookEvery = time.Second

// watched are directories that the engine has files in. They stay open, so that
// their inodes are no others' for as long as they are compared.
type watched struct {
	paths []string
	held  map[string]*os.File
}

// watchDirectory opens what tells that a directory was deleted, emptied, or put
// in the place of another: itself, and what the engine keeps definitions and
// rows in, as soon as it has made it.
func watchDirectory(dataDir string) (*watched, error) {
	f, err := os.Open(dataDir)
	if err != nil {
		return nil, fmt.Errorf("watch the data directory: %w", err)
	}
	w := &watched{paths: []string{filepath.Join(dataDir, "metadata"), filepath.Join(dataDir, "store")}, held: map[string]*os.File{dataDir: f}}
	w.hold()
	return w, nil
}

// hold opens what is there by now.
func (w *watched) hold() {
	for _, path := range w.paths {
		if w.held[path] != nil {
			continue
		}
		if f, err := os.Open(path); err == nil {
			w.held[path] = f
		}
	}
}

func (w *watched) close() error {
	var errs []error
	for _, f := range w.held {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// lost says which directory is gone or another by now.
func (w *watched) lost() error {
	for _, f := range w.held {
		now, err := os.Stat(f.Name())
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was deleted under the engine", f.Name())
		}
		held, herr := f.Stat()
		if err == nil && herr == nil && !os.SameFile(now, held) {
			return fmt.Errorf("%s was put in the place of the engine's directory", f.Name())
		}
	}
	return nil
}

// wait returns once something is lost, or nil when ctx ends.
func (w *watched) wait(ctx context.Context, every time.Duration) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := w.lost(); err != nil {
				return err
			}
			w.hold()
		}
	}
}
