package remote_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"tributary/internal/remote"
	"tributary/test/servers"
)

func otherKey(t *testing.T) ssh.PublicKey {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLogin(t *testing.T) {
	srv := faulty(t, t.TempDir())
	wrong := otherKey(t)
	authorized := func(k ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) }
	line := func(k ssh.PublicKey) string {
		return knownhosts.Line([]string{knownhosts.Normalize(srv.Addr)}, k) + "\n"
	}
	for name, tc := range map[string]struct {
		change func(*remote.Config)
		want   string
	}{
		"key and known_hosts": {func(*remote.Config) {}, ""},
		"password":            {func(c *remote.Config) { c.IdentityFile, c.Password = "", "s3cret" }, ""},
		"wrong password":      {func(c *remote.Config) { c.IdentityFile, c.Password = "", "other" }, "login_failed"},
		"no secret":           {func(c *remote.Config) { c.IdentityFile = "" }, "bad_source_configuration"},
		"wrong user":          {func(c *remote.Config) { c.URL = "sftp://other@" + srv.Addr + "/" }, "login_failed"},
		"missing identity":    {func(c *remote.Config) { c.IdentityFile = "/nonexistent" }, "bad_source_configuration"},
		"damaged identity":    {func(c *remote.Config) { c.IdentityFile = write(t, "no key") }, "bad_source_configuration"},
		"no host key":         {func(c *remote.Config) { c.KnownHosts = "" }, "host_key_unknown"},
		"empty known_hosts":   {func(c *remote.Config) { c.KnownHosts = write(t, "") }, "host_key_unknown"},
		"missing known_hosts": {func(c *remote.Config) { c.KnownHosts = "/nonexistent" }, "bad_source_configuration"},
		"other host known": {func(c *remote.Config) {
			c.KnownHosts = write(t, knownhosts.Line([]string{"elsewhere"}, srv.HostKey)+"\n")
		}, "host_key_unknown"},
		"changed host key": {func(c *remote.Config) { c.KnownHosts = write(t, line(wrong)) }, "host_key_mismatch"},
		"rotated host key": {func(c *remote.Config) { c.KnownHosts = write(t, line(wrong)+line(srv.HostKey)) }, ""},
		"revoked host key": {func(c *remote.Config) {
			c.KnownHosts = write(t, line(srv.HostKey)+"@revoked * "+authorized(srv.HostKey)+"\n")
		}, "host_key_revoked"},
		"pinned key":            {func(c *remote.Config) { c.KnownHosts, c.HostKey = "", []string{authorized(srv.HostKey)} }, ""},
		"pinned fingerprint":    {func(c *remote.Config) { c.KnownHosts, c.HostKey = "", []string{ssh.FingerprintSHA256(srv.HostKey)} }, ""},
		"pin beats known_hosts": {func(c *remote.Config) { c.HostKey = []string{authorized(wrong)} }, "host_key_mismatch"},
		"two pins":              {func(c *remote.Config) { c.HostKey = []string{ssh.FingerprintSHA256(wrong), authorized(srv.HostKey)} }, ""},
		"wrong fingerprint":     {func(c *remote.Config) { c.HostKey = []string{ssh.FingerprintSHA256(wrong)} }, "host_key_mismatch"},
		"damaged pin":           {func(c *remote.Config) { c.HostKey = []string{"MD5:00"} }, "bad_source_configuration"},
		"bad url":               {func(c *remote.Config) { c.URL = "sftp://x" }, "bad_source_configuration"},
		"unknown scheme":        {func(c *remote.Config) { c.URL = "gopher://x" }, "protocol_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			c := keyConfig(srv)
			tc.change(&c)
			s, err := remote.Dial(t.Context(), c)
			if err == nil {
				_ = s.Close()
			}
			if got := remote.Exception(err); got != tc.want {
				t.Errorf("dial: %v (%q), want %q", err, got, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Error("the error shows the password")
			}
		})
	}
}

// An OpenSSH server with an RSA key only: the key type in known_hosts must lead
// to rsa-sha2 signatures; and with several keys, a fingerprint of any of them
// must do.
func TestHostKeyTypesOnOpenSSH(t *testing.T) {
	dir := t.TempDir()
	extra, keys := hostKeys(t, dir)
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: dir, Extra: extra})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	for _, key := range append(keys, sshd.HostKey) {
		line := knownhosts.Line([]string{knownhosts.Normalize(sshd.Addr)}, key) + "\n"
		for how, c := range map[string]remote.Config{
			"known_hosts": {KnownHosts: write(t, line)},
			"pin":         {HostKey: []string{string(ssh.MarshalAuthorizedKey(key))}},
			"fingerprint": {HostKey: []string{ssh.FingerprintSHA256(key)}},
		} {
			c.URL, c.IdentityFile = sshd.URL("/"), sshd.IdentityFile
			s, err := remote.Dial(t.Context(), c)
			if err != nil {
				t.Errorf("%s by %s: %v", key.Type(), how, err)
				continue
			}
			_ = s.Close()
		}
	}
}

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
	held := dialed(t, keyConfig(busy))
	defer held.Close()
	for _, tc := range []struct{ addr, scheme, want string }{
		{refused, "sftp", "connection_failed"},
		{refused, "ftp", "connection_failed"},
		{silent.Addr().String(), "sftp", "timed_out"},
		{silent.Addr().String(), "ftp", "timed_out"},
		{busy.Addr, "sftp", "connection_lost"},
		{"host.invalid:22", "sftp", "host_not_found"},
	} {
		_, err := remote.Dial(t.Context(), remote.Config{
			URL: tc.scheme + "://reader@" + tc.addr + "/", Password: "x",
			HostKey: []string{ssh.FingerprintSHA256(otherKey(t))}, ConnectTimeout: 300 * time.Millisecond,
		})
		if got := remote.Exception(err); got != tc.want {
			t.Errorf("%s://%s: %v (%s), want %s", tc.scheme, tc.addr, err, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "add"))
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
		steps := remote.Check(t.Context(), c, dirs)
		if got := names(steps); got != tc.want {
			t.Errorf("%s: %s; want %s\n%+v", name, got, tc.want, steps)
		}
	}
}
