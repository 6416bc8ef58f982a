//go:build !race

package sftp_test

import (
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// However many entries are listed, few are held.
func TestListsAnyNumber(t *testing.T) {
	n := remotetest.HowMany()
	dir := remotetest.Many(t, n)
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	remotetest.Lists(t, remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts}, n, 0)
}
