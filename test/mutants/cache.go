package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// cache remembers which mutants were caught, by the content of all that the
// test is built from. What survived is tried again each time.
type cache struct {
	dir   string
	fresh bool
	code  map[string]string // digest of what a package's tests are built from
}

// openCache computes the digests of packages.
func openCache(ctx context.Context, root string, packages []string, fresh bool) (*cache, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a place to remember results: %w", err)
	}
	c := &cache{dir: filepath.Join(base, "tributary", "mutants"), fresh: fresh, code: map[string]string{}}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a place to remember results: %w", err)
	}
	digests := map[string]string{} // of directories
	for _, p := range packages {
		dirs, err := directories(ctx, root, p)
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		fmt.Fprintln(sum, runtime.Version())
		if err := digestFile(sum, root, filepath.Join(root, "go.sum")); err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			if digests[dir] == "" {
				if digests[dir], err = digestDir(root, dir); err != nil {
					return nil, err
				}
			}
			fmt.Fprintln(sum, digests[dir])
		}
		c.code[p] = hex.EncodeToString(sum.Sum(nil))
	}
	return c, nil
}

// directories are those of this module that a package's tests are built from.
func directories(ctx context.Context, root, pkg string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-json=Dir,Standard,Module", pkg)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list what %s is built from: %w", pkg, err)
	}
	var dirs []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct{ Main bool }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list what %s is built from: %w", pkg, err)
		}
		if !p.Standard && p.Module != nil && p.Module.Main && p.Dir != "" {
			dirs = append(dirs, p.Dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// digestDir covers a directory with all below it: tests read more than Go
// files.
func digestDir(root, dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return digestFile(sum, root, name)
	})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dir, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digestFile covers a file and its place below root, wherever that lies.
func digestFile(to io.Writer, root, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read what tests are built from: %w", err)
	}
	place, err := filepath.Rel(root, name)
	if err != nil {
		return fmt.Errorf("read what tests are built from: %w", err)
	}
	fmt.Fprintf(to, "%s %d\n", place, len(text))
	_, err = to.Write(text)
	return err
}

// key names a mutant's test on the code as it is, with the changed files.
func (c *cache) key(m Mutant, changed map[string]string) string {
	sum := sha256.New()
	fmt.Fprintln(sum, c.code[m.Package], m.Package, m.Test, m.Hangs)
	files := make([]string, 0, len(changed))
	for file := range changed {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		fmt.Fprintln(sum, file, len(changed[file]))
		fmt.Fprint(sum, changed[file])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (c *cache) has(key string) bool {
	if c.fresh {
		return false
	}
	_, err := os.Stat(filepath.Join(c.dir, key))
	return err == nil
}

// put remembers a result as well as it can: without it, it is found again.
func (c *cache) put(key, name string) {
	_ = os.WriteFile(filepath.Join(c.dir, key), []byte(name+"\n"), 0o600)
}

// moduleRoot is the directory of the module's go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(out))
	if err != nil || mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("mutants must be run within the module: no go.mod was found (%v)", err)
	}
	return filepath.Dir(mod), nil
}
