package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocket is how long a unix socket's path may be, in bytes.
const maxSocket = 107

// longestSocket is the longest name below the run directory.
const longestSocket = "/pg/.s.PGSQL.5432"

// makeDataDir makes the data directory and returns its true path.
func makeDataDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data directory: set data_dir")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", dir, err)
	}
	if _, err := os.Stat(abs); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(abs, passable()); err != nil {
			return "", fmt.Errorf("data directory: %w", err)
		}
		// Whatever the umask: a directory that was there keeps its mode.
		if err := os.Chmod(abs, passable()); err != nil {
			return "", fmt.Errorf("data directory: %w", err)
		}
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	return abs, nil
}

// passable is the mode of a directory that Postgres must get through: closed,
// but for root, whose Postgres runs as another user.
func passable() os.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

// makeRunDir makes the directory for sockets: in the data directory, or, where
// that path is too long for a socket, in a short place named after it. outside
// says that it is the latter.
func makeRunDir(dataDir string) (dir string, outside bool, err error) {
	inside := filepath.Join(dataDir, "run")
	if len(inside)+len(longestSocket) <= maxSocket {
		return inside, false, secureDir(inside, passable())
	}
	name := fmt.Sprintf("tributary-%x", sha256.Sum256([]byte(dataDir)))[:26]
	bases := []string{"/tmp"}
	if os.Geteuid() == 0 {
		bases = []string{"/run", "/tmp"}
	} else if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		bases = []string{base, "/tmp"}
	}
	var errs []error
	for _, base := range bases {
		dir := filepath.Join(base, name)
		if len(dir)+len(longestSocket) > maxSocket {
			continue
		}
		if err = secureDir(dir, passable()); err == nil {
			return dir, true, nil
		}
		errs = append(errs, err)
	}
	return "", false, fmt.Errorf("no place for unix sockets, whose paths have at most %d bytes: set a shorter data_dir: %w", maxSocket, errors.Join(errs...))
}

// secureDir makes a directory that only we can write to, or accepts such a one.
func secureDir(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("directory for sockets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("directory for sockets: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a directory of ours: remove it", dir)
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("directory for sockets: %w", err)
	}
	return nil
}
