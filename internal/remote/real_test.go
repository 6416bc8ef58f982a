package remote_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// root makes a served directory with a parent of its own, for the tests that
// try to leave it.
func root(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "served")
}

func TestLocalDirectoryConforms(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		return remotetest.Fixture{Root: dir, Config: remote.Config{URL: "file://" + dir}, Precision: time.Nanosecond}
	})
}

func TestSFTPConformsOnOpenSSH(t *testing.T) {
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{
			URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts,
		}}
	})
}

// Another server, another version string: the path with small packets and one
// READDIR at a time.
func TestSFTPConformsOnGoServer(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		s := faulty(t, dir)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: keyConfig(s)}
	})
}

func TestFTPConformsOnVSFTPD(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret"})
		servers.Need(t, err)
		t.Cleanup(ftpd.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{
			URL: ftpd.URL("/"), Password: ftpd.Password,
		}}
	})
}

func TestHTTPConformsOnNginx(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret"})
		servers.Need(t, err)
		t.Cleanup(nginx.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksFollowed, Config: remote.Config{
			URL: nginx.URL("/"), Password: "s3cret",
		}}
	})
}

// By the server's own log nothing is asked for that its robots.txt forbids.
func TestNginxIsNotAskedWhatItForbids(t *testing.T) {
	dir := mkdir(t, root(t))
	put(t, dir, "robots.txt", "User-agent: *\nDisallow: /add/*secret\nDisallow: /edit\n")
	for _, name := range []string{"add/secret.zip", "add/open.zip", "edit/x.zip"} {
		put(t, dir, name, "12345")
	}
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir})
	servers.Need(t, err)
	t.Cleanup(nginx.Stop)
	s := dialSite(t, remote.Config{URL: nginx.URL("/")})
	if got, err := listed(t, s, "add"); len(got) != 2 || err != nil {
		t.Errorf("listing: %v, %v", got, err)
	}
	if _, err := listed(t, s, "edit"); remote.Exception(err) != "robots_forbidden" {
		t.Errorf("a forbidden directory: %v", err)
	}
	for name, want := range map[string]string{"add/secret.zip": "robots_forbidden", "edit/x.zip": "robots_forbidden"} {
		if _, err := s.Open(t.Context(), name, 5); remote.Exception(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	// nginx has noted what came before when it answers the next question.
	if _, err := s.Stat(t.Context(), "add/open.zip"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(nginx.AccessLog)
	if err != nil || strings.Contains(string(log), "secret") || strings.Contains(string(log), "/edit") || !strings.Contains(string(log), "HEAD /add/open.zip") {
		t.Errorf("nginx was asked, %v:\n%s", err, log)
	}
}

func TestHTTPSConformsOnNginx(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, TLS: true, Extra: []string{"autoindex_exact_size off;", "autoindex_localtime on;"}})
		servers.Need(t, err)
		t.Cleanup(nginx.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksFollowed, Config: remote.Config{
			URL: nginx.URL("/"), CAFile: nginx.CAFile,
		}}
	})
}

func TestHTTPConformsOnApache(t *testing.T) {
	for name, options := range map[string]string{"fancy": "IndexOptions FancyIndexing HTMLTable", "preformatted": "IndexOptions FancyIndexing IconsAreLinks", "plain": "IndexOptions -FancyIndexing"} {
		t.Run(name, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := mkdir(t, root(t))
				open(t, dir)
				apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, Extra: []string{"Options +Indexes -FollowSymLinks", options}})
				servers.Need(t, err)
				t.Cleanup(apache.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksHidden, EmptyUnknown: name == "plain", Config: remote.Config{URL: apache.URL("/")}}
			})
		})
	}
}

func TestWebDAVConformsOnApache(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := mkdir(t, root(t))
		open(t, dir)
		apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, WebDAV: true, Extra: []string{"Options -FollowSymLinks"}})
		servers.Need(t, err)
		t.Cleanup(apache.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksHidden, Config: remote.Config{URL: apache.URL("/"), WebDAV: true}}
	})
}

// An S3 server over a directory, whose bucket is the served one.
func TestS3ConformsOnVersityGW(t *testing.T) {
	for name, secure := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := mkdir(t, root(t))
				s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir), TLS: secure})
				servers.Need(t, err)
				t.Cleanup(s3.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksHidden, KeysOnly: true, Config: bucket(s3, filepath.Base(dir))}
			})
		})
	}
}

// bucket is how one of a server is reached.
func bucket(s *servers.VersityGW, name string) remote.Config {
	return remote.Config{URL: s.URL(name, ""), Password: s.Secret, Endpoint: s.Endpoint(), Region: s.Region, CAFile: s.CAFile}
}

// open lets everybody read a directory of a test, whose own is its owner's.
func open(t *testing.T, dir string) {
	t.Helper()
	for range 3 {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		dir = filepath.Dir(dir)
	}
}

// FTP within TLS: asked for (ftpes), and from the first byte on (ftps). Data
// connections that resume no TLS session are refused by these servers.
func TestFTPSConformsOnVSFTPD(t *testing.T) {
	for _, scheme := range []string{"ftpes", "ftps"} {
		t.Run(scheme, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := mkdir(t, root(t))
				ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret", TLS: scheme})
				servers.Need(t, err)
				t.Cleanup(ftpd.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{URL: ftpd.URL("/"), Password: ftpd.Password, CAFile: ftpd.CAFile}}
			})
		})
	}
}

// make servers doesn't install ProFTPD: Debian's package takes vsftpd's away. So it
// is tested where somebody has it, and required nowhere.
func TestFTPSConformsOnProFTPD(t *testing.T) {
	for _, scheme := range []string{"ftpes", "ftps"} {
		t.Run(scheme, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := mkdir(t, root(t))
				open(t, dir)
				ftpd, err := servers.StartProFTPD(t.Context(), servers.ProFTPDOptions{Dir: t.TempDir(), Root: dir, TLS: scheme})
				if errors.Is(err, servers.ErrMissing) {
					t.Skipf("skipped: %v", err)
				}
				servers.Need(t, err)
				t.Cleanup(ftpd.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksShownIfWhole, Config: remote.Config{URL: ftpd.URL("/"), CAFile: ftpd.CAFile}}
			})
		})
	}
}

// Pure-FTPd takes vsftpd's place in Debian as ProFTPD does, and is tested likewise.
func TestFTPConformsOnPureFTPD(t *testing.T) {
	for name, secure := range map[string]bool{"ftp": false, "ftpes": true} {
		t.Run(name, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := mkdir(t, root(t))
				open(t, dir)
				ftpd, err := servers.StartPureFTPD(t.Context(), servers.PureFTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret", TLS: secure})
				if errors.Is(err, servers.ErrMissing) {
					t.Skipf("skipped: %v", err)
				}
				servers.Need(t, err)
				t.Cleanup(ftpd.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, NoBackslash: true, Config: remote.Config{URL: ftpd.URL("/"), Password: ftpd.Password, CAFile: ftpd.CAFile}}
			})
		})
	}
}
