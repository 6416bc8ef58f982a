package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tributary/internal/engine/postgres"
)

// maxSocket is how long a unix socket's path may be, in bytes.
const maxSocket = 107

// longestSocket is the longest name below the run directory.
const longestSocket = "/pg/.s.PGSQL.5432"

// makeDataDir makes the data directory, or takes over the one that is there,
// and returns its true path. Whatever its mode was, others get no further than
// mode lets them from now on, and what lies directly in it is closed to them.
func makeDataDir(dir string, mode os.FileMode) (string, error) {
	if dir == "" {
		return "", errors.New("no data directory: set data_dir")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, mode); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if err := os.Chmod(abs, mode); err != nil {
		return "", fmt.Errorf("data directory: %w: it must belong to the account that starts Tributary, "+
			"as others must not read it: give it to that account with chown, or set another data_dir", err)
	}
	return abs, closeInside(abs)
}

// closeInside takes from others what is ours directly in dir: programs before
// this one relied on umask and on modes further down.
func closeInside(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 == 0 || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		if err := os.Chmod(filepath.Join(dir, e.Name()), info.Mode().Perm()&0o700); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("close the data directory to others: %w", err)
		}
	}
	return nil
}

// dirMode is the mode of the directories above the engines' own: closed, but
// where Postgres runs as another account, which must get through.
func dirMode(account *postgres.Account) os.FileMode {
	if account.Shared() {
		return 0o711
	}
	return 0o700
}

// makeRunDir makes the directory for sockets: in the data directory, or, where
// that path is too long for a socket, in a short place named after it. outside
// says that it is the latter.
func makeRunDir(dataDir string, mode os.FileMode) (dir string, outside bool, err error) {
	inside := filepath.Join(dataDir, "run")
	if len(inside)+len(longestSocket) <= maxSocket {
		return inside, false, secureDir(inside, mode)
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
		if err = secureDir(dir, mode); err == nil {
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
