package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// played is a campaign whose turns take a minute each and do nothing.
func played(t *testing.T, dir string, only []string, budget time.Duration, do func(n int, args string) error) (commands []string, violations int, out string) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bytes.Buffer
	c := campaign{dir: dir, only: only, out: &b, now: func() time.Time { return now }, play: func(_ context.Context, args []string, _ *os.File) error {
		now = now.Add(time.Minute)
		commands = append(commands, strings.Join(args, " "))
		return do(len(commands), commands[len(commands)-1])
	}}
	violations, err := c.run(t.Context(), budget)
	if err != nil {
		t.Fatal(err)
	}
	return commands, violations, b.String()
}

func TestACampaignGoesOnWhereItStopped(t *testing.T) {
	dir, only := t.TempDir(), []string{"sim", "chaos"}
	well := func(int, string) error { return nil }
	first, _, _ := played(t, dir, only, 3*time.Minute, well)
	second, _, out := played(t, dir, only, 2*time.Minute, well)
	want := []string{"SEED=1 sim RUNS=500", "SEED=1 chaos RUNS=8 FAULTS=60s", "SEED=501 sim RUNS=500", "SEED=1001 sim RUNS=500", "SEED=9 chaos RUNS=8 FAULTS=60s"}
	if diff := cmp.Diff(want, append(first, second...)); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(out, "5 turns, 0 failed\n") || !strings.Contains(out, "seeds 1 to 1500") {
		t.Errorf("summary:\n%s", out)
	}
}

func TestACampaignKeepsWhatItFound(t *testing.T) {
	dir, only := t.TempDir(), []string{"sim"}
	_, violations, _ := played(t, dir, only, 2*time.Minute, func(n int, _ string) error {
		if n == 1 {
			return errors.New("exit status 1")
		}
		return nil
	})
	if violations != 1 {
		t.Errorf("%d violations, want 1", violations)
	}
	_, violations, out := played(t, dir, only, time.Minute, func(int, string) error { return nil })
	if violations != 0 || !strings.Contains(out, "make SEED=1 sim RUNS=500") || !strings.HasSuffix(out, "3 turns, 1 failed\n") {
		t.Errorf("%d violations of this campaign; summary:\n%s", violations, out)
	}
	logs, err := os.ReadDir(dir)
	if err != nil || len(logs) != 2 {
		t.Errorf("%d files, %v; want the state and the log of the turn that failed", len(logs), err)
	}
}

func TestATurnThatIsBrokenOffIsTakenAgain(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	c := campaign{dir: dir, only: []string{"sim"}, out: &bytes.Buffer{}, now: time.Now, play: func(context.Context, []string, *os.File) error {
		cancel()
		return errors.New("terminated")
	}}
	if violations, err := c.run(ctx, time.Hour); violations != 0 || err != nil {
		t.Errorf("%d violations, %v", violations, err)
	}
	commands, _, _ := played(t, dir, []string{"sim"}, time.Minute, func(int, string) error { return nil })
	if diff := cmp.Diff([]string{"SEED=1 sim RUNS=500"}, commands); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

func TestOnlyKnownSuites(t *testing.T) {
	c := campaign{dir: t.TempDir(), only: []string{"simm"}, out: &bytes.Buffer{}, now: time.Now}
	if _, err := c.run(t.Context(), time.Hour); err == nil || !strings.Contains(err.Error(), "hostile") {
		t.Errorf("error is %v, want one that names the suites there are", err)
	}
}
