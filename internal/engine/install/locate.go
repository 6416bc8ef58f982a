// Package install finds the engines that Tributary can run by itself, and
// fetches the missing ones once: ClickHouse's engine as a shared library and,
// where the machine has no Postgres of its own, Postgres's programs.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// MinPostgres is the oldest major version of Postgres that Tributary runs on.
const MinPostgres = 15

// EnvDir is the environment variable that names a directory of engines.
const EnvDir = "TRIBUTARY_ENGINES"

// systemDir is where root keeps engines: below root's home directory the user
// that Postgres runs as could not reach them.
const systemDir = "/var/lib/tributary/engines"

// Postgres is one usable installation of Postgres.
type Postgres struct {
	// BinDir holds the programs initdb and postgres.
	BinDir string
	// Major is the major version, for example 15.
	Major int
}

// Found is what [Locate] found. Absent engines are zero.
type Found struct {
	// ChDB is the path of libchdb.so, ClickHouse's engine as a library.
	ChDB string
	// Postgres lists the installations of at least [MinPostgres]: the
	// machine's own first, newest first, then the fetched one.
	Postgres []Postgres
	// Searched lists the engine directories that were looked at, in order.
	Searched []string
}

// Missing names what is not there, in words for people; empty if all is there.
func (f Found) Missing() []string {
	var missing []string
	if len(f.Postgres) == 0 {
		missing = append(missing, fmt.Sprintf("Postgres %d or newer", MinPostgres))
	}
	if f.ChDB == "" {
		missing = append(missing, "ClickHouse's engine (libchdb.so)")
	}
	return missing
}

// DefaultDir is where engines are kept when nothing else is said: the user's
// data directory, or /var/lib/tributary/engines for root.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return systemDir, nil
	}
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no place to keep engines: %w: set engines_dir or %s", err, EnvDir)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "tributary", "engines"), nil
}

// Dir is the directory that engines are fetched into: enginesDir if given, else
// the environment's TRIBUTARY_ENGINES, else [DefaultDir].
func Dir(enginesDir string) (string, error) {
	dir := cmp.Or(enginesDir, os.Getenv(EnvDir))
	if dir == "" {
		return DefaultDir()
	}
	return filepath.Abs(dir)
}

// Locate looks for engines in enginesDir (which may be empty), then in
// TRIBUTARY_ENGINES, then in the user's data directory and the machine's; for
// Postgres it first looks for the machine's own. What is not there is left
// zero in the result; an error means that a place could not be searched.
func Locate(enginesDir string) (Found, error) {
	dirs, err := searchDirs(enginesDir)
	if err != nil {
		return Found{}, err
	}
	found := Found{Searched: dirs}
	found.Postgres, err = machinePostgres()
	if err != nil {
		return Found{}, err
	}
	for _, dir := range dirs {
		lib := filepath.Join(dir, chdb().folder, "libchdb.so")
		ok, err := isFile(lib)
		if err != nil {
			return Found{}, err
		}
		if ok && found.ChDB == "" {
			found.ChDB = lib
		}
		if pg, ok := postgresIn(filepath.Join(dir, postgres().folder, "native", "bin")); ok {
			found.Postgres = append(found.Postgres, pg)
		}
	}
	return found, nil
}

func searchDirs(enginesDir string) ([]string, error) {
	def, err := DefaultDir()
	if err != nil && enginesDir == "" && os.Getenv(EnvDir) == "" {
		return nil, err
	}
	var dirs []string
	for _, dir := range []string{enginesDir, os.Getenv(EnvDir), def, systemDir} {
		if dir == "" {
			continue
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("engines directory %s: %w", dir, err)
		}
		if !slices.Contains(dirs, abs) {
			dirs = append(dirs, abs)
		}
	}
	return dirs, nil
}

func isFile(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		return info.Mode().IsRegular(), nil
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("look for engines: %w", err)
}

// machinePostgres lists what Debian's packages and PATH offer, newest first.
func machinePostgres() ([]Postgres, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, fmt.Errorf("look for Postgres: %w", err)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && !slices.Contains(dirs, filepath.Dir(path)) {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	var found []Postgres
	for _, dir := range dirs {
		if pg, ok := postgresIn(dir); ok {
			found = append(found, pg)
		}
	}
	slices.SortStableFunc(found, func(a, b Postgres) int { return cmp.Compare(b.Major, a.Major) })
	return found, nil
}

// postgresIn says which Postgres a directory of programs holds. One that does
// not run or is too old counts as none.
func postgresIn(bin string) (Postgres, bool) {
	if ok, err := isFile(filepath.Join(bin, "initdb")); err != nil || !ok {
		return Postgres{}, false
	}
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return Postgres{}, false
	}
	m := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindSubmatch(out)
	if m == nil {
		return Postgres{}, false
	}
	major, err := strconv.Atoi(string(m[1]))
	if err != nil || major < MinPostgres {
		return Postgres{}, false
	}
	return Postgres{BinDir: bin, Major: major}, true
}
