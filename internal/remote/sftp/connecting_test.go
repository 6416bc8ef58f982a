package sftp_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

func TestConnecting(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().String()
	_ = closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	busy := faulty(t, t.TempDir())
	busy.LimitSessions(1)
	held := remotetest.Dial(t, keyConfig(busy))
	defer held.Close()
	for _, tc := range []struct{ addr, scheme, want string }{
		{refused, "sftp", "connection_failed"},
		{refused, "ftp", "connection_failed"},
		{silent.Addr().String(), "sftp", "timed_out"},
		{silent.Addr().String(), "ftp", "timed_out"},
		{busy.Addr, "sftp", "connection_lost"},
		{"host.invalid:22", "sftp", "host_not_found"},
	} {
		_, err := connectors.All().Dial(t.Context(), remote.Config{
			URL: tc.scheme + "://reader@" + tc.addr + "/", Password: "x",
			HostKey: []string{ssh.FingerprintSHA256(otherKey(t))}, ConnectTimeout: remotetest.Within(tc.want, 300*time.Millisecond),
		})
		if got := remote.Exception(err); got != tc.want {
			t.Errorf("%s://%s: %v (%s), want %s", tc.scheme, tc.addr, err, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	remotetest.Mkdir(t, filepath.Join(dir, "add"))
	srv := faulty(t, dir)
	names := func(steps []remote.Step) string {
		var b strings.Builder
		for _, s := range steps {
			b.WriteString(s.Name)
			if !s.OK {
				b.WriteString("!")
				if s.Remedy == "" {
					t.Errorf("%s fails without a remedy: %s", s.Name, s.Detail)
				}
			}
			b.WriteString(" ")
		}
		return strings.TrimSpace(b.String())
	}
	dirs := []string{"add", "edit", "delete"}
	for name, tc := range map[string]struct {
		change func(*remote.Config)
		want   string
	}{
		"all well":      {func(*remote.Config) {}, "resolve connect host_key login list list list list"},
		"wrong key":     {func(c *remote.Config) { c.HostKey = []string{ssh.FingerprintSHA256(otherKey(t))} }, "resolve connect host_key!"},
		"wrong login":   {func(c *remote.Config) { c.IdentityFile, c.Password = "", "x" }, "resolve connect host_key login!"},
		"wrong base":    {func(c *remote.Config) { c.URL += "nowhere" }, "resolve connect host_key login list!"},
		"bad url":       {func(c *remote.Config) { c.URL = "x" }, "configuration!"},
		"nobody there":  {func(c *remote.Config) { c.URL = "sftp://u@127.0.0.1:1/" }, "resolve connect!"},
		"unknown name":  {func(c *remote.Config) { c.URL = "sftp://u@host.invalid/" }, "resolve!"},
		"no identity":   {func(c *remote.Config) { c.IdentityFile = "/nonexistent" }, "configuration!"},
		"local":         {func(c *remote.Config) { c.URL = "file://" + dir }, "connect list list list list"},
		"local missing": {func(c *remote.Config) { c.URL = "file:///nonexistent" }, "connect!"},
	} {
		c := keyConfig(srv)
		tc.change(&c)
		steps := connectors.All().Check(t.Context(), c, dirs)
		if got := names(steps); got != tc.want {
			t.Errorf("%s: %s; want %s\n%+v", name, got, tc.want, steps)
		}
	}
}
