package postgres

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tributary/internal/engine/child"
)

// orphanPatience is how long an orphan may take for its own clean stop before
// it is asked to, and then again before it is made to.
const orphanPatience = 10 * time.Second

// awaitOrphans returns once no process of an earlier run works in dataDir. The
// caller holds the lock of the whole data directory, so whatever works there
// was left by a Tributary that was killed; the kernel has told it to stop, and
// it is given time. A pid file whose process is gone, or is now another
// program, is removed: Postgres itself would refuse to start if the number had
// been given to any process of the same user.
func awaitOrphans(ctx context.Context, dataDir string, log *slog.Logger) error {
	dir, err := filepath.EvalSymlinks(dataDir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	var waited time.Time
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL}
	for {
		pids := processesIn(dir)
		if len(pids) == 0 {
			return removeStalePidFile(dir)
		}
		if waited.IsZero() {
			log.Info("waiting for the postgres of an earlier run to stop", "pids", pids)
			waited = time.Now()
		}
		if time.Since(waited) > orphanPatience {
			if len(signals) == 0 {
				return fmt.Errorf("processes %v of an earlier run still use %s and don't stop: end them by hand", pids, dataDir)
			}
			for _, pid := range pids {
				_ = syscall.Kill(pid, signals[0])
			}
			signals, waited = signals[1:], time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for processes %v of an earlier run: %w", pids, ctx.Err())
		case <-tick.C:
		}
	}
}

// processesIn lists the Postgres processes that work in dir: each of them has
// the cluster as its working directory.
func processesIn(dir string) []int {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil
	}
	var pids []int
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || cwd != dir {
			continue
		}
		proc := filepath.Dir(link)
		exe, err := os.Readlink(filepath.Join(proc, "exe"))
		if err != nil || !strings.HasPrefix(filepath.Base(exe), "postgres") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// removeStalePidFile removes the pid file if its number belongs to a process
// that is not Postgres. With no such process Postgres judges it itself, and
// better: it also looks for leftover shared memory.
func removeStalePidFile(dir string) error {
	path := filepath.Join(dir, "postmaster.pid")
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pid file of an earlier run: %w", err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err == nil && !child.Alive(pid) {
		return nil
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("pid file of an earlier run: %w", err)
	}
	return nil
}
