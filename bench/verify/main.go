// Command verify times tributary tracker, history and warehouse verify on what 8,000 zips
// left, each beside one scan of what it compares, from the first byte to the last: its topic,
// its tables, and for the warehouse the blobs. The scan compares nothing. Both come in turn,
// and the lines at the end give the medians of all rounds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tributary/bench/counters"
	"tributary/bench/program"
	"tributary/bench/rounds"
	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.IntVar(&b.zips, "zips", 8000, "zips of three documents")
	flag.IntVar(&b.rounds, "rounds", 3, "runs of each")
	program.Main("verify", b.run)
}

type bench struct {
	binary       string
	zips, rounds int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tributary-verify-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs the embedded Postgres
		return err
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: b.zips})
	if err != nil {
		return err
	}
	r, err := rig.Start(ctx, dir, c, rig.Options{})
	if err != nil {
		return err
	}
	defer r.Stop()
	if err := b.command(ctx, r.Config, "up", "--once"); err != nil {
		return err
	}
	engines := exec.CommandContext(ctx, b.binary, "engines", "--config", r.Config, "--log-level", "error")
	engines.Stderr = os.Stderr
	engines.Cancel = func() error { return engines.Process.Signal(syscall.SIGTERM) }
	if err := engines.Start(); err != nil {
		return err
	}
	defer func() {
		_ = engines.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = engines.Wait()
	}()
	s := &scans{data: filepath.Join(dir, "data")}
	if s.postgres, err = counters.Connect(ctx, s.data); err != nil {
		return err
	}
	defer s.postgres.Close(context.WithoutCancel(ctx))
	text, err := os.ReadFile(filepath.Join(s.data, "engines.json"))
	if err != nil {
		return err
	}
	var at engine.Endpoints
	if err := json.Unmarshal(text, &at); err != nil {
		return err
	}
	return b.measure(ctx, r.Config, s, at)
}

func (b *bench) measure(ctx context.Context, config string, s *scans, at engine.Endpoints) error {
	of := []struct {
		name string
		scan func(context.Context, engine.Endpoints) error
		p    rounds.Pairs
	}{{name: "tracker", scan: s.tracker}, {name: "history", scan: s.history}, {name: "warehouse", scan: s.warehouse}}
	for i := range b.rounds {
		for k := range of {
			began := time.Now()
			if err := b.command(ctx, config, of[k].name, "verify"); err != nil {
				return err
			}
			ours := time.Since(began).Seconds()
			began = time.Now()
			if err := of[k].scan(ctx, at); err != nil {
				return fmt.Errorf("scan of the %s: %w", of[k].name, err)
			}
			scan := time.Since(began).Seconds()
			fmt.Printf("round %d: %s: verify %.2f s, scan %.2f s, ratio %.2f\n", i+1, of[k].name, ours, scan, of[k].p.Add(ours, scan))
		}
	}
	for k := range of {
		fmt.Println(of[k].p.Line("verify " + of[k].name))
	}
	return nil
}

// command runs the program, which must find nothing wrong.
func (b *bench) command(ctx context.Context, config string, args ...string) error {
	out, err := exec.CommandContext(ctx, b.binary, append(args, "--config", config, "--log-level", "warn")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tributary %s %s: %w\n%.2000s", args[0], args[1], err, out)
	}
	return nil
}
