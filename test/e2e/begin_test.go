package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// beginning is an installation in which nothing has happened yet, made once for all
// tests of a run: to make its databases and schemas takes the processor longer than
// to ingest a small corpus.
var beginning struct {
	once sync.Once
	dir  string
	err  error
}

// begin lets a system without data begin with a copy of that, unless the test is
// about how one begins, too, or its topics lie on Apache Kafka.
func (s *system) begin() {
	s.t.Helper()
	_, err := os.Stat(s.data())
	if s.fromNothing || s.brokers() != nil || !errors.Is(err, fs.ErrNotExist) {
		return
	}
	beginning.once.Do(func() { beginning.err = makeBeginning(program(s.t)) })
	if err := beginning.err; err != nil {
		s.t.Fatal(err)
	}
	if err := copied(filepath.Join(beginning.dir, "data"), s.data()); err != nil {
		s.t.Fatal(err)
	}
}

func makeBeginning(program string) (err error) {
	if beginning.dir, err = os.MkdirTemp("", "trib-e2e-"); err != nil {
		return err
	}
	// As openDir: an embedded Postgres may be another user.
	if err := os.Chmod(beginning.dir, 0o755); err != nil {
		return err
	}
	config := filepath.Join(beginning.dir, "tributary.yaml")
	if err := os.WriteFile(config, []byte("data_dir: ./data\nprofile: impc\nsources: []\n"), 0o644); err != nil {
		return err
	}
	if out, err := exec.Command(program, "up", "--once", "--config", config).CombinedOutput(); err != nil {
		return fmt.Errorf("tributary up --once without a source: %w\n%s", err, out)
	}
	return nil
}

// copied copies a data directory whose engines don't run.
func copied(from, to string) error {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s to %s: %w\n%s", from, to, err, out)
	}
	return nil
}
