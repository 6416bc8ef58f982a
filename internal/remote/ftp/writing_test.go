package ftp_test

import (
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

func TestFTPIsWrittenOnVSFTPD(t *testing.T) {
	for name, scheme := range map[string]string{"ftp": "", "ftpes": "ftpes"} {
		t.Run(name, func(t *testing.T) {
			remotetest.RunWriting(t, wait.Patience(), func(t *testing.T, dir string) remotetest.Fixture {
				ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, TLS: scheme, Extra: []string{
					"write_enable=YES", "anon_upload_enable=YES", "anon_mkdir_write_enable=YES", "anon_other_write_enable=YES",
				}})
				servers.Need(t, err)
				t.Cleanup(ftpd.Stop)
				return remotetest.Fixture{Config: remote.Config{URL: ftpd.URL("/"), Password: ftpd.Password, CAFile: ftpd.CAFile}}
			})
		})
	}
}
