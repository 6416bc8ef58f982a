package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Beginning is the data directory of an installation in which nothing has happened yet,
// made once for all tests of a run: to make its databases and schemas takes the
// processor longer than to ingest a small corpus.
type Beginning struct {
	once sync.Once
	dir  string
	err  error
}

// Copy lets an installation of a program begin with a copy of it in dir, unless it has
// begun: then, or if a filesystem is mounted there, nothing happens.
func (b *Beginning) Copy(binary, dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	b.once.Do(func() { b.err = b.begin(binary) })
	if b.err != nil {
		return b.err
	}
	return CopyData(filepath.Join(b.dir, "data"), dir)
}

func (b *Beginning) begin(binary string) (err error) {
	if b.dir, err = os.MkdirTemp("", "trib-b-"); err != nil { // short, as paths of sockets must be
		return err
	}
	// An embedded Postgres is another user when tests run as root.
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return err
	}
	config := filepath.Join(b.dir, "tributary.yaml")
	if err := os.WriteFile(config, []byte("data_dir: ./data\nprofile: impc\nsources: []\n"), 0o644); err != nil {
		return err
	}
	if out, err := exec.Command(binary, "up", "--once", "--config", config).CombinedOutput(); err != nil {
		return fmt.Errorf("tributary up --once without a source: %w\n%s", err, out)
	}
	return nil
}

// Remove removes what was made to be copied, if anything was.
func (b *Beginning) Remove() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// CopyData copies a data directory whose engines don't run.
func CopyData(from, to string) error {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s to %s: %w\n%s", from, to, err, out)
	}
	return nil
}
