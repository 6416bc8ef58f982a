package sftp_test

import (
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

func TestSFTPIsWrittenOnOpenSSH(t *testing.T) {
	remotetest.RunWriting(t, wait.Patience(), func(t *testing.T, dir string) remotetest.Fixture {
		sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
		servers.Need(t, err)
		t.Cleanup(sshd.Stop)
		return remotetest.Fixture{Config: remote.Config{URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts}}
	})
}
