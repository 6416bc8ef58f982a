// Command onefile measures how long one new file takes that appears to a process (up, with
// its engines) with nothing else to do: from its listing until its documents are in the
// warehouse and its centre's overview is made. The line at the end gives the median of all.
package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"tributary/bench/program"
	"tributary/bench/rounds"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.StringVar(&b.extra, "config", "", "YAML to add to the configuration")
	flag.IntVar(&b.rounds, "rounds", 9, "files, one after the other")
	program.Main("onefile", b.run)
}

type bench struct {
	binary, extra string
	rounds        int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	return b.with(ctx, b.rounds+1, b.measure)
}

// measure shows one zip after the other.
func (b *bench) measure(ctx context.Context, s *system) error {
	var took []float64
	for i := range b.rounds + 1 {
		one, err := s.ingest(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("zip %d: %.2f s\n", i+1, one)
		if i > 0 { // the first makes plans and connections
			took = append(took, one)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	fmt.Printf("bench one-file ours=%.2fs rounds=%d\n", rounds.Median(took), len(took))
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
