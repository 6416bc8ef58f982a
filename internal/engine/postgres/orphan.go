package postgres

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tributary/internal/engine/child"
)

const (
	// orphanPatience is how long an orphan may take for its own clean stop
	// before it is asked to, and then again before it is made to.
	orphanPatience = 10 * time.Second
	// backendPatience is that of backends whose postmaster is gone: they end
	// by themselves, but for one that is deep in a computation.
	backendPatience = time.Second
	// socketName is how Postgres names its socket.
	socketName = ".s.PGSQL.5432"
)

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
	pids := processesIn(dir)
	if len(pids) > 0 {
		log.Info("waiting for the postgres of an earlier run to stop", "pids", pids)
	}
	for _, sig := range []syscall.Signal{0, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		patience := orphanPatience
		if !slices.Contains(pids, readPid(dir)) {
			patience = backendPatience
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, sig) // it may have ended since
		}
		if pids, err = awaitNone(ctx, dir, patience); err != nil {
			return err
		}
		if len(pids) == 0 {
			return removeStalePidFile(dir)
		}
	}
	return fmt.Errorf("processes %v of an earlier run still use %s and don't stop: end them by hand", pids, dataDir)
}

// awaitNone waits until no process works in dir, and returns those that still
// do after the given time.
func awaitNone(ctx context.Context, dir string, patience time.Duration) ([]int, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		pids := processesIn(dir)
		if len(pids) == 0 {
			return nil, nil
		}
		select {
		case <-limit.C:
			return pids, nil
		case <-ctx.Done():
			return pids, fmt.Errorf("wait for processes %v of an earlier run: %w", pids, ctx.Err())
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

// readPid is the number in the pid file, 0 if there is none.
func readPid(dir string) int {
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		return 0
	}
	return pid
}

// removeStalePidFile removes the pid file if its number belongs to a process,
// which is not Postgres then, or can't be read. With no such process Postgres
// judges it itself, and better: it also looks for leftover shared memory.
func removeStalePidFile(dir string) error {
	if pid := readPid(dir); pid != 0 && !child.Alive(pid) {
		return nil
	}
	err := os.Remove(filepath.Join(dir, "postmaster.pid"))
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("pid file of an earlier run: %w", err)
	}
	return nil
}

// removeStaleSocket removes the socket and its pid file that a killed Postgres
// left. Postgres itself would refuse to start while a process of its user has
// that number: another program that was given it, or the killed one as long as
// nobody has reaped it. The directory is ours alone, and no Postgres uses it
// once awaitOrphans has returned.
func removeStaleSocket(socketDir string) error {
	for _, name := range []string{socketName + ".lock", socketName} {
		if err := os.Remove(filepath.Join(socketDir, name)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("socket of an earlier run: %w", err)
		}
	}
	return nil
}
