package sftp_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

// jumpHost is an OpenSSH server that forwards for whoever has the private key.
func jumpHost(t *testing.T, identity string, extra ...string) (hop string, s *servers.SSHD) {
	t.Helper()
	text, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	authorized := remotetest.File(t, string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	s, err = servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir(), Extra: append(extra, "AllowTcpForwarding yes", fmt.Sprintf("AuthorizedKeysFile %q", authorized))})
	servers.Need(t, err)
	t.Cleanup(s.Stop)
	return s.User + "@" + s.Addr, s
}

func knownLine(addr string, key ssh.PublicKey) string {
	return knownhosts.Line([]string{knownhosts.Normalize(addr)}, key) + "\n"
}

func TestJumpHosts(t *testing.T) {
	srv := faulty(t, t.TempDir())
	first, a := jumpHost(t, srv.IdentityFile)
	second, b := jumpHost(t, srv.IdentityFile)
	shut, closed := jumpHost(t, srv.IdentityFile, "AllowTcpForwarding no")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	line, wrong := knownLine, otherKey(t)
	ofServer, ofFirst, ofSecond := line(srv.Addr, srv.HostKey), line(a.Addr, a.HostKey), line(b.Addr, b.HostKey)
	known := ofServer + ofFirst + ofSecond + line(closed.Addr, closed.HostKey)
	for name, tc := range map[string]struct {
		jump   []string
		known  string
		change func(*remote.Config)
		want   string
		names  []string // in the error
		not    string   // in the error
	}{
		"one":                       {jump: []string{first}},
		"two":                       {jump: []string{first, second}},
		"the server's key is wrong": {jump: []string{first}, known: line(srv.Addr, wrong) + ofFirst, want: "host_key_mismatch", names: []string{srv.Addr}, not: first},
		"the server's is the jump host's": {jump: []string{first}, known: line(srv.Addr, a.HostKey) + ofFirst,
			want: "host_key_mismatch", names: []string{srv.Addr}, not: first},
		"the jump host's key is wrong": {jump: []string{first}, known: ofServer + line(a.Addr, wrong), want: "host_key_mismatch", names: []string{first}, not: srv.Addr},
		"the jump host is unknown":     {jump: []string{first}, known: ofServer, want: "host_key_unknown", names: []string{first}, not: srv.Addr},
		"the second's key is wrong": {jump: []string{first, second}, known: ofServer + ofFirst + line(b.Addr, wrong),
			want: "host_key_mismatch", names: []string{second}, not: first},
		"the first of two is unknown": {jump: []string{first, second}, known: ofServer + ofSecond, want: "host_key_unknown", names: []string{first}, not: second},
		"pins are the server's alone": {jump: []string{first}, known: ofFirst, change: func(c *remote.Config) {
			c.HostKey = []string{ssh.FingerprintSHA256(srv.HostKey)}
		}},
		"a pinned jump host is unknown": {jump: []string{first}, known: ofServer, want: "host_key_unknown", names: []string{first}, change: func(c *remote.Config) {
			c.HostKey = []string{ssh.FingerprintSHA256(a.HostKey)}
		}},
		"a pinned jump host is not the server": {jump: []string{first}, want: "host_key_mismatch", names: []string{srv.Addr}, change: func(c *remote.Config) {
			c.HostKey = []string{ssh.FingerprintSHA256(otherKey(t))}
		}},
		"it refuses to forward": {jump: []string{shut}, want: "connection_failed", names: []string{shut, "refuses to forward to " + srv.Addr}},
		"it can't reach the server": {jump: []string{first}, known: known + line("127.0.0.1:1", srv.HostKey), want: "connection_failed", names: []string{first, "127.0.0.1:1"},
			change: func(c *remote.Config) { c.URL = "sftp://reader@127.0.0.1:1/" }},
		"it refuses the user":  {jump: []string{"somebody-else@" + a.Addr}, want: "login_failed", names: []string{"somebody-else@" + a.Addr}},
		"it is not there":      {jump: []string{"u@127.0.0.1:1"}, want: "connection_failed", names: []string{"u@127.0.0.1:1"}},
		"it is no jump host":   {jump: []string{"ssh://u@h"}, want: "bad_source_configuration"},
		"no key for jump host": {jump: []string{first}, want: "bad_source_configuration", names: []string{first}, change: func(c *remote.Config) { c.IdentityFile, c.Password = "", "s3cret" }},
		"it says nothing": {jump: []string{"u@" + silent.Addr().String()}, want: "timed_out", names: []string{"u@" + silent.Addr().String()},
			change: func(c *remote.Config) { c.ConnectTimeout = 300 * time.Millisecond }},
	} {
		t.Run(name, func(t *testing.T) {
			c := keyConfig(srv)
			if tc.known == "" {
				tc.known = known
			}
			c.Jump, c.KnownHosts = tc.jump, remotetest.File(t, tc.known)
			if tc.change != nil {
				tc.change(&c)
			}
			s, err := connectors.All().Dial(t.Context(), c)
			if err == nil {
				_, err = remotetest.Listed(t, s, "")
				_ = s.Close()
			}
			if got := remote.Exception(err); got != tc.want {
				t.Fatalf("%v (%q), want %q", err, got, tc.want)
			}
			for _, name := range tc.names {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("the error doesn't name %s: %v", name, err)
				}
			}
			if tc.not != "" && strings.Contains(err.Error(), tc.not) {
				t.Errorf("the error names %s: %v", tc.not, err)
			}
		})
	}
}

// Whoever gets to the server, which says nothing, tells of it, and of no jump host before it.
func TestASilentServerBehindAJumpHost(t *testing.T) {
	srv := faulty(t, t.TempDir())
	first, a := jumpHost(t, srv.IdentityFile)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	c := keyConfig(srv)
	c.URL, c.Jump, c.KnownHosts = "sftp://reader@"+silent.Addr().String()+"/", []string{first}, remotetest.File(t, knownLine(a.Addr, a.HostKey))
	wait.Longer(t, 2*time.Second, func(silence time.Duration) error {
		c.ConnectTimeout = silence
		_, err := connectors.All().Dial(t.Context(), c)
		if remote.Exception(err) != "timed_out" || !strings.Contains(err.Error(), silent.Addr().String()) {
			return fmt.Errorf("the server says nothing: %w", err)
		}
		return nil
	})
}

// A check shows the way, and says at which jump host it ends.
func TestCheckThroughJumpHosts(t *testing.T) {
	srv := faulty(t, t.TempDir())
	first, a := jumpHost(t, srv.IdentityFile)
	shut, closed := jumpHost(t, srv.IdentityFile, "AllowTcpForwarding no")
	c := keyConfig(srv)
	c.KnownHosts = remotetest.File(t, knownLine(srv.Addr, srv.HostKey)+knownLine(a.Addr, a.HostKey)+knownLine(closed.Addr, closed.HostKey))
	key := func(s *servers.SSHD) string { return " ssh-ed25519 " + ssh.FingerprintSHA256(s.HostKey) }
	for _, tc := range []struct {
		jump []string
		want []string
	}{
		{[]string{first}, []string{"jump: " + first + key(a), "connect: " + srv.Addr + " through " + first, "host_key: ssh-ed25519 " + ssh.FingerprintSHA256(srv.HostKey), "login: user reader", "list: base directory: 0 files, 0 directories, 0 others"}},
		{[]string{first, shut}, []string{"jump: " + first + key(a) + ", then " + shut + key(closed), "connect fails: ask the jump host's owner"}},
		{[]string{first, "other@" + a.Addr}, []string{"jump fails: check the user in jump"}},
		{[]string{"u@h.invalid"}, []string{"jump fails: check host and port in jump"}},
	} {
		c.Jump = tc.jump
		var got []string
		for _, step := range connectors.All().Check(t.Context(), c, nil) {
			is := step.Name + ": " + step.Detail
			if !step.OK {
				is = step.Name + " fails: " + step.Remedy
			}
			got = append(got, is)
		}
		last := len(got) - 1
		if want := tc.want[len(tc.want)-1]; len(got) == len(tc.want) && strings.Contains(want, " fails: ") {
			_, remedy, _ := strings.Cut(want, ": ")
			if strings.Contains(got[last], remedy) {
				got[last] = want
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("through %v (- want, + got):\n%s", tc.jump, diff)
		}
	}
}

// What stalls or hangs up behind jump hosts is noticed as elsewhere, and sessions give back
// all that they took.
func TestAStalledServerBehindAJumpHost(t *testing.T) {
	before := sockets(t)
	srv, _, files := faultyWorld(t)
	first, a := jumpHost(t, srv.IdentityFile)
	second, b := jumpHost(t, srv.IdentityFile)
	c := keyConfig(srv)
	c.Jump = []string{first, second}
	c.KnownHosts = remotetest.File(t, knownLine(srv.Addr, srv.HostKey)+knownLine(a.Addr, a.HostKey)+knownLine(b.Addr, b.HostKey))
	s := remotetest.Dial(t, c)
	if data, err := remotetest.Download(t.Context(), s, "add/large.zip", large); err != nil || string(data) != string(files["large.zip"]) {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	_ = s.Close()
	srv.Stall("add/large.zip")
	hasty := c
	hasty.IdleTimeout = 2 * time.Second
	s = remotetest.Dial(t, hasty)
	if _, err := remotetest.Download(t.Context(), s, "add/large.zip", large); remote.Exception(err) != "timed_out" {
		t.Errorf("a stalled file: %v (%s)", err, remote.Exception(err))
	}
	_ = s.Close()
	srv.CloseAfter("add/b.zip", 10)
	s = remotetest.Dial(t, c)
	if _, err := remotetest.Download(t.Context(), s, "add/b.zip", 20_000); remote.Exception(err) != "connection_lost" {
		t.Errorf("a server that hangs up: %v (%s)", err, remote.Exception(err))
	}
	_ = s.Close()
	srv.Stop()
	// SSH's reader may be the one that hangs up: then Close doesn't wait for it.
	patience := time.After(wait.Patience())
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for after := sockets(t); after > before; after = sockets(t) {
		select {
		case <-again.C:
		case <-patience:
			t.Fatalf("%d sockets are open, %d were before", after, before)
		}
	}
}

// sockets is how many sockets this process holds.
func sockets(t *testing.T) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
