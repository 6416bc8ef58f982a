package sftp_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
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

func TestLogin(t *testing.T) {
	srv := faulty(t, t.TempDir())
	wrong := otherKey(t)
	authorized := func(k ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) }
	line := func(k ssh.PublicKey) string {
		return knownhosts.Line([]string{knownhosts.Normalize(srv.Addr)}, k) + "\n"
	}
	hashed := func(addr string, k ssh.PublicKey) string {
		return knownhosts.HashHostname(knownhosts.Normalize(addr)) + " " + authorized(k) + "\n"
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
		"damaged identity":    {func(c *remote.Config) { c.IdentityFile = remotetest.File(t, "no key") }, "bad_source_configuration"},
		"no host key":         {func(c *remote.Config) { c.KnownHosts = "" }, "host_key_unknown"},
		"empty known_hosts":   {func(c *remote.Config) { c.KnownHosts = remotetest.File(t, "") }, "host_key_unknown"},
		"missing known_hosts": {func(c *remote.Config) { c.KnownHosts = "/nonexistent" }, "bad_source_configuration"},
		"other host known": {func(c *remote.Config) {
			c.KnownHosts = remotetest.File(t, knownhosts.Line([]string{"elsewhere"}, srv.HostKey)+"\n")
		}, "host_key_unknown"},
		"changed host key":       {func(c *remote.Config) { c.KnownHosts = remotetest.File(t, line(wrong)) }, "host_key_mismatch"},
		"rotated host key":       {func(c *remote.Config) { c.KnownHosts = remotetest.File(t, line(wrong)+line(srv.HostKey)) }, ""},
		"hashed known_hosts":     {func(c *remote.Config) { c.KnownHosts = remotetest.File(t, hashed(srv.Addr, srv.HostKey)) }, ""},
		"hashed, another's key":  {func(c *remote.Config) { c.KnownHosts = remotetest.File(t, hashed(srv.Addr, wrong)) }, "host_key_mismatch"},
		"hashed, another's host": {func(c *remote.Config) { c.KnownHosts = remotetest.File(t, hashed("elsewhere:22", srv.HostKey)) }, "host_key_unknown"},
		"hashed, and then rotated": {func(c *remote.Config) {
			c.KnownHosts = remotetest.File(t, hashed("elsewhere:22", wrong)+hashed(srv.Addr, wrong)+hashed(srv.Addr, srv.HostKey))
		}, ""},
		"revoked host key": {func(c *remote.Config) {
			c.KnownHosts = remotetest.File(t, line(srv.HostKey)+"@revoked * "+authorized(srv.HostKey)+"\n")
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
			s, err := connectors.All().Dial(t.Context(), c)
			if err == nil {
				_ = s.Close()
			}
			if got := remote.Exception(err); got != tc.want {
				t.Errorf("dial: %v (%q), want %q", err, got, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Error("the error shows the password")
			}
			if shown, known := ssh.FingerprintSHA256(srv.HostKey), ssh.FingerprintSHA256(wrong); tc.want == "host_key_mismatch" && !(strings.Contains(err.Error(), shown) && strings.Contains(err.Error(), known)) {
				t.Errorf("the error shows not both the server's key, %s, and the one that is known, %s: %v", shown, known, err)
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
			"known_hosts": {KnownHosts: remotetest.File(t, line)},
			"pin":         {HostKey: []string{string(ssh.MarshalAuthorizedKey(key))}},
			"fingerprint": {HostKey: []string{ssh.FingerprintSHA256(key)}},
		} {
			c.URL, c.IdentityFile = sshd.URL("/"), sshd.IdentityFile
			s, err := connectors.All().Dial(t.Context(), c)
			if err != nil {
				t.Errorf("%s by %s: %v", key.Type(), how, err)
				continue
			}
			_ = s.Close()
		}
	}
}
