//go:build !race

package ftp_test

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
	ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir})
	servers.Need(t, err)
	t.Cleanup(ftpd.Stop)
	remotetest.Lists(t, remote.Config{URL: ftpd.URL("/")}, n, 0)
}
