package sftp_test

import (
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

func TestSFTPConformsOnOpenSSH(t *testing.T) {
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{
			URL: sshd.URL(dir), IdentityFile: sshd.IdentityFile, KnownHosts: sshd.KnownHosts,
		}}
	})
}
