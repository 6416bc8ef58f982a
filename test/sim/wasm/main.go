// Command wasm plays seeds of the simulation so that a seed gives the same
// trace each time, byte for byte. The simulation is compiled to WebAssembly: it
// has one thread and is never interrupted, and its clock and all its randomness
// are this program's, made from the seed.
//
// Each seed is played twice and its traces compared. What a seed breaks is
// shrunk: what it drew is left out part by part, as long as the same law is
// broken.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

func main() {
	var o options
	flag.StringVar(&o.module, "module", "", "the simulation as WebAssembly")
	flag.StringVar(&o.profiles, "profiles", "", "the folder test/profiles")
	flag.StringVar(&o.cache, "cache", "", "a folder for compiled code")
	flag.StringVar(&o.traces, "traces", "", "a folder for traces")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.Uint64Var(&o.runs, "runs", 1, "how many seeds")
	flag.IntVar(&o.atOnce, "at-once", runtime.NumCPU(), "how many seeds are played at once")
	without := flag.String("without", "", "the numbers of parts that are left out of what each seed draws, with commas")
	flag.Parse()
	if err := json.Unmarshal([]byte("["+*without+"]"), &o.without); err != nil {
		fmt.Fprintf(os.Stderr, "-without takes numbers with commas between them: %v\n", err)
		os.Exit(2)
	}
	failed, err := o.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

type options struct {
	module, profiles, cache, traces string
	seed, runs                      uint64
	atOnce                          int
	without                         []int
}

// run plays all seeds, and reports whether one differed or broke a law.
func (o options) run(ctx context.Context) (failed bool, err error) {
	h, err := newHost(ctx, o.module, o.profiles, o.cache, o.atOnce)
	if err != nil {
		return true, err
	}
	var (
		all              sync.WaitGroup
		mu               sync.Mutex
		differ, violated int
		seeds            = make(chan uint64)
	)
	for range o.atOnce {
		all.Go(func() {
			for seed := range seeds {
				v := o.verdict(ctx, h, seed)
				mu.Lock()
				if v.err != nil && err == nil {
					err = v.err
				}
				if v.differs {
					differ++
				}
				if v.violates {
					violated++
				}
				fmt.Print(v.text)
				mu.Unlock()
			}
		})
	}
	for seed := o.seed; seed < o.seed+o.runs; seed++ {
		seeds <- seed
	}
	close(seeds)
	all.Wait()
	fmt.Printf("%d seeds played twice, %d differ, %d violations\n", o.runs, differ, violated)
	return differ+violated > 0, err
}

// verdict is what is said of a seed.
type verdict struct {
	text              string
	differs, violates bool
	err               error
}

// verdict plays a seed twice.
func (o options) verdict(ctx context.Context, h *host, seed uint64) verdict {
	first, err := h.play(ctx, seed, o.without)
	if err != nil {
		return verdict{err: err}
	}
	second, err := h.play(ctx, seed, o.without)
	if err != nil {
		return verdict{err: err}
	}
	if first.hash != second.hash {
		return verdict{differs: true, text: fmt.Sprintf("seed %d: two traces, %s\n", seed, firstDifference(first.trace, second.trace)),
			err: o.keep(fmt.Sprintf("seed-%d-first.txt", seed), first.trace, fmt.Sprintf("seed-%d-second.txt", seed), second.trace)}
	}
	text := fmt.Sprintf("seed %d: %s\n", seed, first.hash)
	if o.runs == 1 {
		text = first.trace + text
	}
	if first.held {
		return verdict{text: text}
	}
	short, gone, err := shrink(func(without []int) (play, error) { return h.play(ctx, seed, without) }, first, o.without)
	if err != nil {
		return verdict{violates: true, err: err}
	}
	text += fmt.Sprintf("seed %d breaks %v; left out as if not drawn: SIM_WITHOUT=%s; what is left:\n%s", seed, broken(short.trace), list(gone), short.trace)
	return verdict{violates: true, text: text, err: o.keep(fmt.Sprintf("seed-%d.txt", seed), first.trace, fmt.Sprintf("seed-%d-short.txt", seed), short.trace)}
}

// keep writes traces, given as name and text by turns.
func (o options) keep(traces ...string) error {
	for i := 0; i+1 < len(traces); i += 2 {
		if err := os.WriteFile(filepath.Join(o.traces, traces[i]), []byte(traces[i+1]), 0o600); err != nil {
			return err
		}
	}
	return nil
}
