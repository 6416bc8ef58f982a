package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tributary/bench/counters"
	"tributary/test/rig"
)

// taken is what a run of ours took.
type taken struct {
	wall, cpu float64 // seconds; of the processor with the engines'
	memory    float64 // the program's resident peak in MB, without the engines
}

// ours times one session over the whole corpus: the process from start to exit, engines
// included, tracker and history read to the log's end. Only the making of an empty data
// directory is done before.
func (b *bench) ours(ctx context.Context, r *rig.Rig) (taken, error) {
	if err := warm(ctx, b.binary, r.Config); err != nil {
		return taken{}, err
	}
	return once(ctx, b.binary, r)
}

// once runs one session to its end.
func once(ctx context.Context, binary string, r *rig.Rig) (t taken, err error) {
	start := time.Now()
	cmd := exec.CommandContext(ctx, binary, "up", "--once", "--config", r.Config, "--log-level", "warn")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return t, err
	}
	peak := counters.WatchPeak(cmd.Process.Pid)
	err = cmd.Wait()
	t.wall, t.memory = time.Since(start).Seconds(), float64(peak())/1e6
	if err != nil {
		return t, fmt.Errorf("tributary up --once: %w", err)
	}
	t.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return t, nil
}

// warm makes the data directory with a session over no sources.
func warm(ctx context.Context, binary, config string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	head, _, _ := strings.Cut(string(text), "\nsources:\n")
	empty := filepath.Join(filepath.Dir(config), "empty.yaml")
	if err := os.WriteFile(empty, []byte(head+"\n"), 0o644); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, binary, "up", "--once", "--config", empty, "--log-level", "error").CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the data directory: %w\n%s", err, out)
	}
	return nil
}
