// Package enginetest gives tests real engines: a Postgres per test binary with
// a fresh database per test, an embedded broker per test, and a ClickHouse per
// test binary with a fresh database per test.
//
// Its Postgres begins as a copy of a cluster that is kept in the user's cache folder
// (tributary/cluster-…), made by the first that needs one of its kind.
//
// A test is skipped, with the remedy, where an engine is not installed; with
// TRIBUTARY_REQUIRE_ENGINES=1 in the environment it fails instead. Whatever a
// test binary has started ends with it, however it ends, and leaves no files, unless
// they are kept on purpose (TRIBUTARY_TEST_DIR).
package enginetest

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// EnvRequire makes a missing engine a failure instead of a skip if it is "1".
const EnvRequire = "TRIBUTARY_REQUIRE_ENGINES"

// EnvDir names a directory in which the engines of a test binary keep what they have, so
// that a later one finds it again. One binary at a time uses it.
const EnvDir = "TRIBUTARY_TEST_DIR"

// EnvBinary names the program under test, by an absolute path, where it has been built.
const EnvBinary = "TRIBUTARY_BINARY"

// shared is what the tests of one binary share. It is package state because
// starting a database takes seconds, and because a test binary has no other
// place that outlives a test and needs no help from the tested package.
var shared struct {
	dir        func() (string, error)
	postgres   func() (string, error) // socket directory
	clickhouse func() (string, error) // endpoint
	templates  once                   // databases of which tests get copies, by what fills them
	read       once                   // databases of ClickHouse that tests read
	admin      admin
	begun      sync.Once
	kafka      kafkaUse
}

func setup() {
	shared.begun.Do(func() {
		shared.dir = sync.OnceValues(tempDir)
		shared.postgres = sync.OnceValues(startPostgres)
		shared.clickhouse = sync.OnceValues(startClickHouse)
	})
}

// Missing skips the test, or fails it where engines are required.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(EnvRequire) == "1" {
		t.Fatalf("%s is required by %s=1 and missing: run make engines", what, EnvRequire)
	}
	t.Skipf("%s is missing: run make engines", what)
}

// Dir returns a new directory for one test that another user can enter, as an
// embedded Postgres needs when the tests run as root; t.TempDir's can't be. It
// is removed at the end of the test.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := openDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the test's directory: %v", err)
		}
	})
	return dir
}

func openDir() (string, error) {
	// Short, since a unix socket's path has at most 107 bytes.
	dir, err := os.MkdirTemp("", "trib-")
	if err != nil {
		return "", fmt.Errorf("test directory: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", fmt.Errorf("test directory: %w", err)
	}
	return dir, nil
}

// janitor waits for the end of the test binary, then for that of Postgres, and
// removes what they left. A test binary can't do it, as it may be killed.
const janitor = `trap '' INT TERM HUP
cat >/dev/null
i=0
while [ -e "$1/pg/postmaster.pid" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done
rm -rf -- "$1"`

// tempDir makes the directory that the binary's tests share.
func tempDir() (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return "", fmt.Errorf("test directory: %w", err)
		}
		return dir, nil
	}
	dir, err := openDir()
	if err != nil {
		return "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("test directory: %w", err)
	}
	cmd := exec.Command("sh", "-c", janitor, "sh", dir)
	cmd.Dir = filepath.Dir(dir)
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("test directory: %w", err)
	}
	// The write end is kept open, on purpose, until this process ends: its
	// raw number is not garbage collected.
	fd, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		return "", fmt.Errorf("test directory: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("test directory: %w", err)
	}
	return dir, r.Close()
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}
