package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cost is what something took: of the clock, and of the processor in this
// process and in the engine's.
type cost struct {
	rows               int64
	wall, self, engine time.Duration
}

func (c cost) rate() float64   { return float64(c.rows) / c.wall.Seconds() }
func (c cost) perRow() float64 { return (c.self + c.engine).Seconds() / float64(c.rows) }

func (c cost) String() string {
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(c.rows) }
	return fmt.Sprintf("%.0f rows/s (of the processor %.1f us a row here, %.1f in the engine)", c.rate(), each(c.self), each(c.engine))
}

// self is this process, for those who take the id of one.
const self = -1

func measure(engine int, do func() int64) cost {
	begun, here, there := time.Now(), processor(self), processor(engine)
	rows := do()
	return cost{rows: rows, wall: time.Since(begun), self: processor(self) - here, engine: processor(engine) - there}
}

func directory(pid int) string {
	if pid == self {
		return "/proc/self"
	}
	return fmt.Sprint("/proc/", pid)
}

// fields are what a process tells of itself, after its name: its state, its
// parent, and so on. None if there is no such process.
func fields(pid int) []string {
	stat, err := os.ReadFile(filepath.Join(directory(pid), "stat"))
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return nil
	}
	return strings.Fields(string(stat[end+1:]))
}

// processor is the time of the processor that a process has taken.
func processor(pid int) time.Duration {
	f := fields(pid)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // Linux counts in hundredths
}

// childProcess is the engine that enginetest has started; 0 where it can't be
// found, and what is measured of it is then nothing.
func childProcess(t *testing.T) int {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(filepath.Base(e))
		if err != nil {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(e, "comm"))
		if f := fields(pid); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) && strings.HasPrefix(string(name), "clickhouse") {
			return pid
		}
	}
	t.Log("the engine is no child of this process: what it takes is not measured")
	return 0
}

// clearPeak forgets the most memory that processes have had.
func clearPeak(t *testing.T, pids ...int) {
	t.Helper()
	debug.FreeOSMemory()
	for _, pid := range pids {
		if err := os.WriteFile(filepath.Join(directory(pid), "clear_refs"), []byte("5"), 0); err != nil {
			t.Logf("the memory includes what came before: %v", err)
		}
	}
}

// peak is the most memory that a process has had, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(directory(pid), "status"))
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	if err != nil || !found {
		t.Logf("the memory of %s is not measured: %v", directory(pid), err)
		return 0
	}
	kilobytes, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return kilobytes << 10
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
