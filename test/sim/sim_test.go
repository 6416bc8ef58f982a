//go:build synctests

package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tributary/internal/profile"
	"tributary/schemas"
)

// What a run of seeds is asked for, by environment variables (mk/proof.mk).
const (
	envSeed      = "SIM_SEED"      // the first seed; default 1
	envRuns      = "SIM_RUNS"      // how many; default 10
	envFaultless = "SIM_FAULTLESS" // any value: nothing goes wrong
	envWithout   = "SIM_WITHOUT"   // the numbers of parts that are left out of what a seed drew
	envTraces    = "SIM_TRACES"    // a folder for the traces of failing seeds
	envSummary   = "SIM_SUMMARY"   // a file for the numbers of seeds and violations
)

// maxPrinted is how many traces are printed in full.
const maxPrinted = 2

// TestSimulation plays seeds, one after another. A seed that breaks a law is
// printed with a trace of what happened.
func TestSimulation(t *testing.T) {
	// One thing at a time, so that a seed goes much the same way each time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sh := setup(t)
	first, n := number(envSeed, 1), number(envRuns, 10)
	violations := 0
	for seed := first; seed < first+n; seed++ {
		s := run(t, sh, seed, os.Getenv(envFaultless) != "")
		if len(s.violations) == 0 {
			if n == 1 {
				fmt.Println(s.story())
			}
			continue
		}
		violations++
		t.Errorf("seed %d:\n  %s", seed, strings.Join(s.violations, "\n  "))
		s.keep(t, violations <= maxPrinted)
	}
	summarise(t, first, n, violations)
}

// summarise says how many seeds broke a law.
func summarise(t *testing.T, first, n uint64, violations int) {
	path := os.Getenv(envSummary)
	if path == "" {
		fmt.Printf("%d seeds, %d violations\n", n, violations)
	} else {
		if err := os.WriteFile(path, fmt.Appendf(nil, "%d %d %d\n", first, n, violations), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// story is the trace of a run.
func (s *sim) story() string {
	return fmt.Sprintf("seed %d, %d members, %d files, %d faults struck, %d parts drawn:\n%s", s.seed, len(s.members), len(s.scene.files), s.faults.struck, s.drawn, strings.Join(s.trace, "\n"))
}

// keep prints the trace of a failing seed, and keeps it.
func (s *sim) keep(t *testing.T, show bool) {
	if show {
		fmt.Println(s.story())
	}
	if dir := os.Getenv(envTraces); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("seed-%d.txt", s.seed)), []byte(s.story()+"\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func setup(t *testing.T) *shared {
	t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load(os.DirFS(filepath.Join("..", "profiles", "weather")))
	if err != nil {
		t.Fatal(err)
	}
	centres, err := profile.NewCentreSet(p.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	return &shared{codec: codec, profile: p, centres: centres}
}

func number(name string, byDefault uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return byDefault
}
