package remote_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
	"tributary/test/servers"
	"tributary/test/wait"
)

// writable are servers of a directory that may be changed, each by how it is reached.
func writable() map[string]func(t *testing.T, dir string) remote.Config {
	ftp := func(scheme string) func(t *testing.T, dir string) remote.Config {
		return func(t *testing.T, dir string) remote.Config {
			ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, TLS: scheme, Extra: []string{
				"write_enable=YES", "anon_upload_enable=YES", "anon_mkdir_write_enable=YES", "anon_other_write_enable=YES",
			}})
			servers.Need(t, err)
			t.Cleanup(ftpd.Stop)
			return remote.Config{URL: ftpd.URL("/"), Password: ftpd.Password, CAFile: ftpd.CAFile}
		}
	}
	return map[string]func(t *testing.T, dir string) remote.Config{
		"file": func(_ *testing.T, dir string) remote.Config { return remote.Config{URL: "file://" + dir} },
		"sftp": func(t *testing.T, dir string) remote.Config {
			sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
			servers.Need(t, err)
			t.Cleanup(sshd.Stop)
			return remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts}
		},
		"ftp": ftp(""), "ftpes": ftp("ftpes"),
		"webdav": func(t *testing.T, dir string) remote.Config {
			locks := mkdir(t, root(t))
			if err := errors.Join(servers.OpenToAll(dir), servers.OpenToAll(locks)); err != nil {
				t.Fatal(err)
			}
			apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, WebDAV: true, Locks: locks})
			servers.Need(t, err)
			t.Cleanup(apache.Stop)
			return remote.Config{URL: apache.URL("/"), WebDAV: true}
		},
		"s3": func(t *testing.T, dir string) remote.Config {
			s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir)})
			servers.Need(t, err)
			t.Cleanup(s3.Stop)
			return bucket(s3, filepath.Base(dir))
		},
	}
}

func writerOf(t *testing.T, c remote.Config) (remote.Session, writing.Writer) {
	t.Helper()
	s := dialSite(t, c)
	w, err := remote.Writing(s, writing.Permitted())
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		got[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What a writer promises, on every kind of server that can be written to.
func TestWriters(t *testing.T) {
	for name, start := range writable() {
		t.Run(name, func(t *testing.T) {
			dir := mkdir(t, root(t))
			for file, text := range map[string]string{"add/remove.zip": "1", "add/move.zip": "22", "add/stays.zip": "333", "add/mark.zip": "4444", "done/add/stays.zip": "other", "add/marked.zip.done": "by others"} {
				put(t, dir, file, text)
			}
			_, w := writerOf(t, start(t, dir))
			ctx := t.Context()
			ok := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			ok("delete", w.Remove(ctx, "add/remove.zip"))
			if err := w.Remove(ctx, "add/remove.zip"); !errors.Is(err, fs.ErrNotExist) && name != "s3" {
				t.Errorf("deleting what is gone: %v", err)
			}
			for _, made := range []string{"new", "new/add", "new/add"} {
				ok("make directory "+made, w.MakeDirectory(ctx, made))
			}
			ok("move", w.Move(ctx, "add/move.zip", "new/add/move.zip"))
			if err := w.Move(ctx, "add/move.zip", "new/add/other.zip"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("moving what is gone: %v", err)
			}
			if err := w.Move(ctx, "add/stays.zip", "done/add/stays.zip"); !errors.Is(err, fs.ErrExist) || remote.Exception(err) != "target_exists" {
				t.Errorf("moving over what is there: %v", err)
			}
			if err := w.Move(ctx, "add/stays.zip", "add/stays.zip"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("moving to itself: %v", err)
			}
			for range 2 {
				ok("mark", w.Mark(ctx, "add/mark.zip.done"))
			}
			ok("mark what is marked", w.Mark(ctx, "add/marked.zip.done"))
			if err := w.Remove(ctx, "../x"); err == nil {
				t.Error("left the base")
			}
			want := map[string]string{"add/stays.zip": "333", "add/mark.zip": "4444", "add/mark.zip.done": "", "done/add/stays.zip": "other", "add/marked.zip.done": "by others", "new/add/move.zip": "22"}
			if d := cmp.Diff(want, contents(t, dir)); d != "" {
				t.Errorf("the server's files (- want, + got):\n%s", d)
			}
		})
	}
}

// A move that was cut off between its two steps is done to its end.
func TestMovesThatWereCutOff(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		dir := mkdir(t, root(t))
		put(t, dir, "add/a.zip", "1")
		put(t, dir, "done/x", "")
		if err := os.Link(filepath.Join(dir, "add/a.zip"), filepath.Join(dir, "done/a.zip")); err != nil {
			t.Fatal(err)
		}
		_, w := writerOf(t, remote.Config{URL: "file://" + dir})
		if err := w.Move(t.Context(), "add/a.zip", "done/a.zip"); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(map[string]string{"done/a.zip": "1", "done/x": ""}, contents(t, dir)); d != "" {
			t.Errorf("(- want, + got):\n%s", d)
		}
	})
}

// Nobody changes a server without leave, nor over a protocol that reads only.
func TestNobodyWritesWithoutLeave(t *testing.T) {
	dir := mkdir(t, root(t))
	s := dialSite(t, remote.Config{URL: "file://" + dir})
	if _, err := remote.Writing(s, writing.Permit{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without leave: %v", err)
	}
	site := newSite(t, http.NotFound)
	over := dialSite(t, remote.Config{URL: site.URL})
	if _, err := remote.Writing(over, writing.Permitted()); !errors.Is(err, writing.ErrUnsupported) || remote.Exception(err) != "writing_unsupported" {
		t.Errorf("over HTTP: %v", err)
	}
}

// turnstile lets one pass at a time, and counts them.
type turnstile struct {
	free   chan struct{}
	passed atomic.Int64
}

func (g *turnstile) Ask(ctx context.Context) (func(), error) {
	select {
	case <-g.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.passed.Add(1)
	return sync.OnceFunc(func() { g.free <- struct{}{} }), nil
}

func (g *turnstile) AtLeast(context.Context, time.Duration) {}

// Each change waits until the server may be asked, and waits for nothing while it is.
func TestChangesWaitForTheirTurn(t *testing.T) {
	for name, start := range writable() {
		if name == "file" {
			continue // is no server
		}
		t.Run(name, func(t *testing.T) {
			dir := mkdir(t, root(t))
			put(t, dir, "add/remove.zip", "1")
			put(t, dir, "add/move.zip", "22")
			cfg, gate := start(t, dir), &turnstile{free: make(chan struct{}, 1)}
			gate.free <- struct{}{}
			cfg.Gate = gate
			_, w := writerOf(t, cfg)
			ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
			defer cancel()
			for what, change := range map[string]func() error{
				"delete": func() error { return w.Remove(ctx, "add/remove.zip") },
				"mark":   func() error { return w.Mark(ctx, "add/x.done") },
				"move":   func() error { return w.Move(ctx, "add/move.zip", "add/moved.zip") },
			} {
				before := gate.passed.Load()
				if err := change(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				least := map[bool]int64{true: 2, false: 1}[what == "move"] // what is there is asked first
				if asked := gate.passed.Load() - before; asked < least {
					t.Errorf("%s asked the server %d times, want %d at the least", what, asked, least)
				}
			}
		})
	}
}
