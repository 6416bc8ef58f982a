package ftp_test

import (
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

func TestFTPConformsOnVSFTPD(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret"})
		servers.Need(t, err)
		t.Cleanup(ftpd.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{
			URL: ftpd.URL("/"), Password: ftpd.Password,
		}}
	})
}
