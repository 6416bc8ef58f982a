package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/rig"
	"tributary/test/wait"
)

// TestMain removes what building and the first beginning left.
func TestMain(m *testing.M) {
	wait.Beside()
	code := m.Run()
	for _, dir := range []string{built.dir, crashing.dir} {
		if dir == "" {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
		}
	}
	if err := beginning.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
	}
	os.Exit(code)
}

// builtOnce is a program that is built once for all tests of a run.
type builtOnce struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// built is the program under test, and crashing the same with its crash points.
var built, crashing builtOnce

// beginning is what systems begin with.
var beginning rig.Beginning

// program returns the path of the binary under test.
func program(t testing.TB) string {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatalf("look for engines: %v", err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, fmt.Sprint(missing))
	}
	built.once.Do(func() {
		if built.path = os.Getenv("TRIBUTARY_BINARY"); built.path == "" {
			built.err = built.build()
		} else if !filepath.IsAbs(built.path) {
			built.err = errors.New("TRIBUTARY_BINARY must be an absolute path")
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// crashable returns the path of the program with its crash points.
func crashable(t testing.TB) string {
	t.Helper()
	crashing.once.Do(func() { crashing.err = crashing.build("-tags", "crashpoints") })
	if crashing.err != nil {
		t.Fatal(crashing.err)
	}
	return crashing.path
}

func (b *builtOnce) build(flags ...string) (err error) {
	if b.dir, err = os.MkdirTemp("", "tributary-bin-"); err != nil {
		return fmt.Errorf("directory for the binary: %w", err)
	}
	b.path = filepath.Join(b.dir, "tributary")
	args := append(append([]string{"build"}, flags...), "-o", b.path, "tributary/cmd/tributary")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// number is the value of an environment variable, or fallback.
func number(t testing.TB, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// seed is that of corpora, and of what else is random.
func seed(t testing.TB) uint64 { return number(t, "TRIBUTARY_SEED", 1) }
