package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/rig"
	"tributary/test/turns"
)

// TestMain removes what building and the first beginning left.
func TestMain(m *testing.M) {
	if err := oneMore(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(2)
	}
	code := m.Run()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
		}
	}
	if err := beginning.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
	}
	os.Exit(code)
}

// oneMore lets one test more than there are processors run at once, unless -parallel
// says how many: most wait for what others do.
func oneMore() error {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
}

// built is the program under test, built once for all tests of a run.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

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
	built.once.Do(func() { built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func build() error {
	if path := os.Getenv("TRIBUTARY_BINARY"); path != "" {
		if !filepath.IsAbs(path) {
			return errors.New("TRIBUTARY_BINARY must be an absolute path")
		}
		built.path = path
		return nil
	}
	dir, err := os.MkdirTemp("", "tributary-bin-")
	if err != nil {
		return fmt.Errorf("directory for the binary: %w", err)
	}
	built.dir, built.path = dir, filepath.Join(dir, "tributary")
	if out, err := exec.Command("go", "build", "-o", built.path, "tributary/cmd/tributary").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// long leaves a test out with -short, as make test and make check have it unless LONG is
// set: it takes the processor for long, and the quicker ones, which those run, ask first
// what it asks of the whole program.
func long(t *testing.T, quicker ...string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("takes long, and is left out with -short; quicker: %s", strings.Join(quicker, ", "))
	}
	turns.Take(t)
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
