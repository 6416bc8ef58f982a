//go:build !race

package sftp_test

import (
	"fmt"
	"strings"
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

func TestSFTPListingsWithoutEnd(t *testing.T) {
	many := names(1000)
	for i := range 1000 {
		many = append(many, entry(fmt.Sprintf("J.2026-01-01.%012d.impc.zip", i), "-", attrs(4))...)
	}
	for name, tc := range map[string]struct {
		names    []byte
		channels int32
	}{
		"files":                  {many, 0},
		"long names":             {names(1, entry(strings.Repeat("L", 200_000), "", attrs(4))), 0},
		"no names":               {names(0), 0},
		"files, one channel":     {many, 1},
		"no names, one channel":  {names(0), 1},
		"no attributes":          {names(10_000, []byte(strings.Repeat("\x00", 12*10_000))), 0},
		"the same, one channel":  {names(10_000, []byte(strings.Repeat("\x00", 12*10_000))), 1},
		"huge name, one channel": {names(1, entry(strings.Repeat("L", 200_000), "", attrs(4))), 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := (&evil{names: tc.names, endless: true, channels: tc.channels}).start(t)
			c.Limits.Listing = 1 << 18
			s := remotetest.Dial(t, c)
			var err error
			n := 0
			bytes := remotetest.Allocated(func() { err = s.List(t.Context(), "add", func(remote.Entry) error { n++; return nil }) })
			remotetest.Fit(t, err)
			if remote.Exception(err) != "listing_too_long" || !remote.SessionLost(err) || bytes > 512<<20 || n > 200_000 {
				t.Errorf("%d entries, %d bytes allocated, %v (%s); want listing_too_long", n, bytes, err, remote.Exception(err))
			}
		})
	}
}
