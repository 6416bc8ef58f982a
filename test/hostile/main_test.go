package hostile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/rig"
	"tributary/test/turns"
)

// TestMain removes what building left. As another account the binary of the
// tests only looks around.
func TestMain(m *testing.M) {
	if asked := os.Getenv(probeEnv); asked != "" {
		probe(asked)
		os.Exit(0)
	}
	code := m.Run()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, "hostile:", err)
		}
	}
	if err := beginning.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
	}
	os.Exit(code)
}

// built is the program under test, built once for all tests of a run.
var built struct {
	once sync.Once
	dir  string
	path string
	keys string // every key that its configuration knows
	err  error
}

// beginning is what installations begin with.
var beginning rig.Beginning

// program returns the path of the binary under test: that of the environment,
// which may be an older one, or else what is built here.
func program(t testing.TB) string {
	t.Helper()
	if os.Getenv("TRIBUTARY_HOSTILE") == "" {
		t.Skip("takes minutes: run make test-hostile")
	}
	turns.Take(t)
	found, err := install.Locate("")
	if err != nil {
		t.Fatalf("look for engines: %v", err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, fmt.Sprint(missing))
	}
	built.once.Do(func() { built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func build() error {
	dir, err := os.MkdirTemp("", "tributary-bin-")
	if err != nil {
		return fmt.Errorf("directory for the binary: %w", err)
	}
	built.dir, built.path = dir, os.Getenv("TRIBUTARY_BINARY")
	if built.path == "" {
		built.path = filepath.Join(dir, "tributary")
		if out, err := exec.Command("go", "build", "-o", built.path, "tributary/cmd/tributary").CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	} else if !filepath.IsAbs(built.path) {
		return errors.New("TRIBUTARY_BINARY must be an absolute path")
	}
	init := exec.Command(built.path, "init", "--config", filepath.Join(dir, "init.yaml"))
	init.Dir = dir
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("tributary init: %w\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.New("tributary init wrote no configuration")
	}
	text, err := os.ReadFile(files[0])
	built.keys = string(text)
	return err
}

// knows tells whether the program under test has a key, so that the same tests
// run an older one and fail for what it does.
func knows(key string) bool {
	return strings.Contains(built.keys, "\n  "+key+":") || strings.Contains(built.keys, "\n"+key+":")
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
