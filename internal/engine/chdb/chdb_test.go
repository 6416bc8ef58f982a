package chdb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/engine/install"
	"tributary/internal/engine/sharedlib"
	"tributary/test/wait"
)

// envChild makes the test binary run the engine instead of tests.
const envChild = "TRIBUTARY_TEST_CHDB_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) == "1" {
		if err := RunChild(context.Background(), os.Args[1:], sharedlib.Bind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(envChild) == "older" {
		if err := asAnOlderProgram(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(envChild) == "panic" {
		panicInChild(os.Args[1], os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// panicInChild dereferences nil while the engine is loaded and open.
func panicInChild(library, dir string) {
	lib, err := load(library, sharedlib.Bind)
	if err != nil {
		panic(err)
	}
	lib.setSignalHandlers(0)
	c, err := dial(lib, []string{"--path=" + dir}, nil)
	if err != nil {
		panic(err)
	}
	defer c.close()
	defer func() { fmt.Println("recovered:", recover()) }()
	var p *int
	*p++
}

func options(t testing.TB) Options {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if found.ChDB == "" {
		if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
			t.Fatal("libchdb.so is required and missing: run make engines")
		}
		t.Skip("libchdb.so is missing: run make engines")
	}
	dir := t.TempDir()
	return Options{
		Library: found.ChDB, DataDir: filepath.Join(dir, "data"), Socket: filepath.Join(dir, "ch.sock"),
		Command: []string{os.Args[0]}, Env: []string{envChild + "=1"},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

func start1(t testing.TB, o Options) *Server {
	t.Helper()
	s := New(o)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t testing.TB, s *Server, edit func(*clickhouse.Options)) driver.Conn {
	t.Helper()
	o, err := dialOptions(s.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(o)
	}
	c, err := clickhouse.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func mustExec(t testing.TB, c driver.Conn, sql string, args ...any) {
	t.Helper()
	if err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t testing.TB, c driver.Conn, sql string, args ...any) uint64 {
	t.Helper()
	var n uint64
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// eventually polls until ok says yes.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

// driverConn is the client's interface.
type driverConn = driver.Conn
