//go:build synctests

package sim

import (
	"os"
	"strconv"
	"testing"

	"tributary/internal/profile"
	"tributary/schemas"
)

func setup(t *testing.T) *shared {
	t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load(os.DirFS("../profiles/weather"))
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

func TestSimulation(t *testing.T) {
	sh := setup(t)
	first, n := number("SIM_SEED", 1), number("SIM_RUNS", 1)
	for seed := first; seed < first+n; seed++ {
		s := run(t, sh, seed, os.Getenv("SIM_FAULTLESS") != "")
		if len(s.violations) > 0 {
			t.Errorf("seed %d: %v", seed, s.violations)
			if os.Getenv("SIM_TRACE") == "" {
				continue
			}
			for _, l := range s.trace {
				t.Log(l)
			}
		}
	}
}
