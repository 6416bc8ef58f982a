//go:build !race

package poll

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
	"tributary/test/servers"
)

// noted notes which directories a session lists.
type noted struct {
	remote.Session
	dirs *[]string
}

func (l noted) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	*l.dirs = append(*l.dirs, "/"+dir)
	return l.Session.List(ctx, dir, yield)
}

// realServers are servers of each protocol, which show what lies in root.
func realServers() map[string]func(t *testing.T, root string) remote.Config {
	return map[string]func(t *testing.T, root string) remote.Config{
		"file": func(_ *testing.T, root string) remote.Config { return remote.Config{URL: "file://" + root} },
		"sftp": func(t *testing.T, root string) remote.Config {
			s, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return remote.Config{URL: s.URL(root), IdentityFile: s.IdentityFile, KnownHosts: s.KnownHosts}
		},
		"ftp": func(t *testing.T, root string) remote.Config {
			s, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: root, Password: "s3cret"})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return remote.Config{URL: s.URL("/"), Password: s.Password}
		},
		"http, nginx": func(t *testing.T, root string) remote.Config {
			s, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: root})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return remote.Config{URL: s.URL("/")}
		},
		"http, nginx's JSON": func(t *testing.T, root string) remote.Config {
			s, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: root, Extra: []string{"autoindex_format json;"}})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return remote.Config{URL: s.URL("/")}
		},
		"http, Apache": func(t *testing.T, root string) remote.Config {
			for _, dir := range []string{root, filepath.Dir(root), filepath.Dir(filepath.Dir(root))} { // which are the test's own
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: root, Extra: []string{"Options +Indexes -FollowSymLinks", "IndexOptions FancyIndexing"}})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return remote.Config{URL: s.URL("/")}
		},
	}
}

// Every protocol shows the times of directories by one listing of the base, in place of
// those of what is passed over, and a file that comes is listed by the next poll.
func TestEveryProtocolIsPolledMinimally(t *testing.T) {
	for name, start := range realServers() {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "served")
			write := func(path string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(root, path), []byte(path), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, action := range schemas.Actions() {
				if err := os.MkdirAll(filepath.Join(root, action), 0o755); err != nil {
					t.Fatal(err)
				}
				write(action + "/" + good)
				if err := os.Chtimes(filepath.Join(root, action), noon, noon); err != nil {
					t.Fatal(err)
				}
			}
			cfg := start(t, root)
			b := newBench(t)
			b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", CompleteEvery: config.Duration(240 * time.Hour)})
			var dirs []string
			b.deps.Dial = func(ctx context.Context, _ remote.Config) (remote.Session, error) {
				s, err := connectors.All().Dial(ctx, cfg)
				if err != nil {
					return nil, err
				}
				return noted{s, &dirs}, nil
			}
			for i, step := range []struct {
				happens func()
				want    string
			}{
				{func() {}, "complete / /add /edit /delete"},
				{func() {}, "complete / /add /edit /delete"},
				{func() {}, "minimal /"},
				{func() { write("edit/" + good2) }, "minimal / /edit"},
				{func() {}, "minimal / /edit"},
				{func() {}, "minimal /"},
				{func() { write("add/" + good) }, "minimal /"}, // in place
				{func() {
					write("add/new")
					if err := os.Rename(filepath.Join(root, "add/new"), filepath.Join(root, "add", good)); err != nil {
						t.Fatal(err)
					}
				}, "minimal / /add"},
				{func() { b.now = b.now.Add(240 * time.Hour) }, "complete / /add /edit /delete"},
			} {
				step.happens()
				dirs = nil
				if got := b.listing() + " " + strings.Join(dirs, " "); got != step.want {
					t.Fatalf("step %d: %q, want %q; it goes by %s", i, got, step.want, b.text("SELECT directories::text FROM control.source"))
				}
				if got := b.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"); got != "3" && i < 3 || got != "4" && i >= 3 {
					t.Errorf("step %d: %s files are known", i, got)
				}
				b.now = b.now.Add(25 * time.Hour) // longer than any time of a directory is exact to
			}
		})
	}
}
