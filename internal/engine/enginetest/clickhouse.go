package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tributary/internal/engine"
	"tributary/internal/engine/chdb"
	"tributary/internal/engine/install"
)

// ClickHouse returns the endpoint of the ClickHouse that this test binary
// shares, for engine.OpenClickHouse. Tests keep apart by databases: see
// [Database].
func ClickHouse(t testing.TB) string {
	t.Helper()
	setup()
	endpoint, err := shared.clickhouse()
	if errors.Is(err, errMissing) {
		Missing(t, "ClickHouse's engine (libchdb.so)")
	}
	if err != nil {
		t.Fatalf("start ClickHouse for tests: %v", err)
	}
	return endpoint
}

// Database creates a new database in the ClickHouse at endpoint and returns its
// name. It is dropped at the end of the test.
func Database(t testing.TB, endpoint string) string {
	t.Helper()
	name := Name()
	if err := clickhouseExec(endpoint, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("test database: %v", err)
	}
	t.Cleanup(func() {
		if err := clickhouseExec(endpoint, "DROP DATABASE IF EXISTS "+name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return name
}

// Read returns the name of a database that holds what fill puts into it, and which tests
// only read: fill is called once per name in a test binary, and the database ends with it.
// So a name stands for what is always the same.
func Read(t testing.TB, endpoint, name string, fill func(database string) error) string {
	t.Helper()
	database, err := shared.read.get(name, func() (string, error) {
		fresh := Name()
		if err := clickhouseExec(endpoint, "CREATE DATABASE "+fresh); err != nil {
			return "", err
		}
		return fresh, fill(fresh)
	})
	if err != nil {
		t.Fatalf("fill the database %q that tests read: %v", name, err)
	}
	return database
}

func clickhouseExec(endpoint, sql string) error {
	conn, err := engine.OpenClickHouse(endpoint, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Exec(context.Background(), sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// startClickHouse starts the binary's ClickHouse in a process of its own.
func startClickHouse() (string, error) {
	found, err := install.Locate("")
	if err != nil {
		return "", err
	}
	if found.ChDB == "" {
		return "", errMissing
	}
	dir, err := shared.dir()
	if err != nil {
		return "", err
	}
	command, err := clickhouseChild(dir)
	if err != nil {
		return "", err
	}
	s := chdb.New(chdb.Options{
		Library: found.ChDB, DataDir: filepath.Join(dir, "ch"), Socket: filepath.Join(dir, "ch.sock"),
		Command: command, Logger: quiet(),
	})
	if err := s.Start(context.Background()); err != nil {
		return "", err
	}
	return s.Endpoint(), nil
}

// clickhouseChild is the program in whose process ClickHouse runs. A test binary can't
// start itself in that role, as a package without a TestMain for it would run its tests
// again: the program under test is that program where make has built it, which takes less
// than to find out whether a small one, which is built in dir otherwise, is still up to date.
func clickhouseChild(dir string) ([]string, error) {
	if built := os.Getenv(EnvBinary); built != "" {
		return []string{built, engine.ChildCommand}, nil
	}
	program := filepath.Join(dir, "clickhouse-child")
	// What go run links it keeps for the next binary; it is to be copied instead of run.
	build := exec.Command("go", "run", "-exec", "cp", "tributary/internal/engine/enginetest/child", program)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the child: %w: %s", err, out)
	}
	return []string{program}, nil
}
