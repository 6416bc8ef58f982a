package remote_test

import (
	"path/filepath"
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
