package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const (
	// begin is the wall clock of every play when it begins, in Unix seconds.
	begin = 1_772_366_400
	// reading is how long one reading of the clock takes, in nanoseconds: time
	// passes for the program only when it asks or sleeps.
	reading = 1000
)

// host compiles the simulation once and plays seeds with it. It is safe for
// concurrent use.
type host struct {
	runtime  wazero.Runtime
	module   wazero.CompiledModule
	profiles string // the folder that the simulation reads
}

// newHost compiles the simulation, or takes what an earlier one has compiled
// from the folder cache.
func newHost(ctx context.Context, module, profiles, cache string, workers int) (*host, error) {
	code, err := os.ReadFile(module)
	if err != nil {
		return nil, err
	}
	compiled, err := wazero.NewCompilationCacheWithDir(cache)
	if err != nil {
		return nil, err
	}
	h := &host{profiles: profiles}
	h.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(compiled))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, h.runtime); err != nil {
		return nil, err
	}
	h.module, err = h.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, workers), code)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", module, err)
	}
	return h, nil
}

// play is what came of a seed.
type play struct {
	trace string
	held  bool // no law was broken
	// hash is of the trace, of when the program ended by its own clock, and of
	// how much randomness it drew: any other order of what ran changes one.
	hash string
}

// play plays a seed without those of its parts that are named by their numbers.
func (h *host) play(ctx context.Context, seed uint64, without []int) (play, error) {
	var (
		out   bytes.Buffer
		clock = int64(0)
		dice  = &counted{source: seeded(seed)}
	)
	now := func() int64 { clock += reading; return clock }
	config := wazero.NewModuleConfig().WithName("").WithStdout(&out).WithStderr(&out).
		WithArgs("sim.test", "-test.run", "^TestSimulation$", "-test.timeout", "0").
		WithEnv("PWD", "/sim").WithEnv("SIM_SEED", strconv.FormatUint(seed, 10)).WithEnv("SIM_RUNS", "1").WithEnv("SIM_WITHOUT", list(without)).
		WithFSConfig(wazero.NewFSConfig().WithReadOnlyDirMount(h.profiles, "/profiles").WithReadOnlyDirMount(filepath.Join(h.profiles, "..", "sim"), "/sim")).
		WithRandSource(dice).
		WithNanotime(now, sys.ClockResolution(1)).
		WithWalltime(func() (int64, int32) { t := now(); return begin + t/1e9, int32(t % 1e9) }, sys.ClockResolution(1)).
		WithNanosleep(func(ns int64) { clock += max(ns, 0) })
	mod, err := h.runtime.InstantiateModule(ctx, h.module, config)
	if mod != nil {
		defer func() { _ = mod.Close(ctx) }()
	}
	var exit *sys.ExitError
	if err != nil && !errors.As(err, &exit) {
		return play{}, fmt.Errorf("seed %d: %w", seed, err)
	}
	sum := sha256.Sum256(fmt.Appendf(bytes.Clone(out.Bytes()), "%d %d", clock, dice.drawn))
	return play{trace: out.String(), held: exit == nil || exit.ExitCode() == 0, hash: hex.EncodeToString(sum[:])}, nil
}

// seeded is all the randomness of a play: that of the program's runtime, which
// chooses among what is ready and where a map begins, too.
func seeded(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

// counted counts what is drawn.
type counted struct {
	source *rand.ChaCha8
	drawn  int
}

func (c *counted) Read(p []byte) (int, error) {
	c.drawn += len(p)
	return c.source.Read(p)
}

func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}
