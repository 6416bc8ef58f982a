//go:build !synctests

package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// shortSeeds are played by an ordinary `go test`, in some 5 s and the time to build, and half
// as many with -short.
const shortSeeds = 20

// TestShort plays a few seeds. Locks of the Kafka client stop virtual time
// unless it is built with the tag synctests, so that takes a binary of its own.
func TestShort(t *testing.T) {
	n := shortSeeds
	if testing.Short() {
		n /= 2
	}
	binary, runs := filepath.Join(t.TempDir(), "sim.test"), strconv.Itoa(n)
	build := exec.CommandContext(t.Context(), "go", "test", "-tags", "synctests", "-ldflags=-s -w", "-c", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	play := exec.CommandContext(t.Context(), binary, "-test.run", "^(TestSimulation|TestHostileSourcesDelayNobody)$", "-test.timeout", (10 * time.Minute).String())
	play.Env = append(os.Environ(), "SIM_SEED=1", "SIM_RUNS="+runs, "SIM_TRACES="+t.ArtifactDir())
	if out, err := play.CombinedOutput(); err != nil {
		t.Fatalf("make sim SEED=1 RUNS=%s does not hold: %v\n%s", runs, err, out)
	}
}
