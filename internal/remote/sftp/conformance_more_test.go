//go:build !race

package sftp_test

import (
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// What goroutines share is the same with every server: with the race detector one is enough,
// and the tests of jump hosts.

// Another server, another version string: the path with small packets and one
// READDIR at a time.
func TestSFTPConformsOnGoServer(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		s := faulty(t, dir)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: keyConfig(s)}
	})
}

func TestSFTPConformsThroughJumpHosts(t *testing.T) {
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	first, a := jumpHost(t, sshd.IdentityFile)
	second, b := jumpHost(t, sshd.IdentityFile)
	known := remotetest.File(t, knownLine(sshd.Addr, sshd.HostKey)+knownLine(a.Addr, a.HostKey)+knownLine(b.Addr, b.HostKey))
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{
			URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: known, Jump: []string{first, second},
		}}
	})
}
