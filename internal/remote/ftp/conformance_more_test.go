//go:build !race

package ftp_test

import (
	"errors"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// What goroutines share is the same with every server: with the race detector one is enough.

// FTP within TLS: asked for (ftpes), and from the first byte on (ftps). Data
// connections that resume no TLS session are refused by these servers.
func TestFTPSConformsOnVSFTPD(t *testing.T) {
	for _, scheme := range []string{"ftpes", "ftps"} {
		t.Run(scheme, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := remotetest.Mkdir(t, remotetest.Served(t))
				ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret", TLS: scheme})
				servers.Need(t, err)
				t.Cleanup(ftpd.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Config: remote.Config{URL: ftpd.URL("/"), Password: ftpd.Password, CAFile: ftpd.CAFile}}
			})
		})
	}
}

// Where vsftpd is, Debian installs neither ProFTPD nor Pure-FTPd: make servers unpacks them
// beside, where it can, so they are required nowhere.
func TestFTPSConformsOnProFTPD(t *testing.T) {
	for _, scheme := range []string{"ftpes", "ftps"} {
		t.Run(scheme, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := remotetest.Mkdir(t, remotetest.Served(t))
				remotetest.Open(t, dir)
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

// Pure-FTPd sends what it could not of a listing that was broken off before the next one.
func TestFTPConformsOnPureFTPD(t *testing.T) {
	for name, secure := range map[string]bool{"ftp": false, "ftpes": true} {
		t.Run(name, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := remotetest.Mkdir(t, remotetest.Served(t))
				remotetest.Open(t, dir)
				ftpd, err := servers.StartPureFTPD(t.Context(), servers.PureFTPDOptions{Dir: t.TempDir(), Root: dir, TLS: secure})
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
