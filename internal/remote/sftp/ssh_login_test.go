package sftp_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// privateKey makes a key and the file of it.
func privateKey(t *testing.T) (signer ssh.Signer, file string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	return signer, remotetest.File(t, string(pem.EncodeToMemory(block)))
}

// A user whose key the server doesn't know logs in with a certificate that an
// authority has signed, if it lies beside the key and is valid.
func TestUserCertificateOnOpenSSH(t *testing.T) {
	dir := t.TempDir()
	authority, _ := privateKey(t)
	authorities := remotetest.File(t, string(ssh.MarshalAuthorizedKey(authority.PublicKey())))
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: dir, Extra: []string{fmt.Sprintf("TrustedUserCAKeys %q", authorities)}})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	user, _, _ := strings.Cut(strings.TrimPrefix(sshd.URL("/"), "sftp://"), "@")
	now := uint64(time.Now().Unix())
	for about, tt := range map[string]struct {
		change func(cert *ssh.Certificate)
		want   string
	}{
		"valid":          {func(*ssh.Certificate) {}, ""},
		"none":           {nil, "login_failed"},
		"of another":     {func(c *ssh.Certificate) { c.ValidPrincipals = []string{"somebody-else"} }, "login_failed"},
		"expired":        {func(c *ssh.Certificate) { c.ValidBefore = now - 60 }, "bad_source_configuration"},
		"not yet valid":  {func(c *ssh.Certificate) { c.ValidAfter = now + 3600 }, "bad_source_configuration"},
		"of a host":      {func(c *ssh.Certificate) { c.CertType = ssh.HostCert }, "bad_source_configuration"},
		"of another key": {func(c *ssh.Certificate) { c.Key = otherKey(t) }, "bad_source_configuration"},
	} {
		t.Run(about, func(t *testing.T) {
			key, file := privateKey(t)
			if tt.change != nil {
				cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{user}, ValidAfter: now - 3600, ValidBefore: now + 3600}
				tt.change(cert)
				if err := cert.SignCert(rand.Reader, authority); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file+"-cert.pub", ssh.MarshalAuthorizedKey(cert), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := connectors.All().Dial(t.Context(), remote.Config{URL: sshd.URL("/"), IdentityFile: file, KnownHosts: sshd.KnownHosts})
			if err == nil {
				_ = s.Close()
			}
			if got := remote.Exception(err); got != tt.want {
				t.Errorf("dial: %v (%q), want %q", err, got, tt.want)
			}
		})
	}
}

// An agent signs with the key that it holds, which no file has.
func TestAgentOnOpenSSH(t *testing.T) {
	dir := t.TempDir()
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: dir})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	text, err := os.ReadFile(sshd.IdentityFile)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParseRawPrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	held := agent.NewKeyring()
	socket := serveAgent(t, held)
	c := remote.Config{URL: sshd.URL("/"), IdentityAgent: socket, KnownHosts: sshd.KnownHosts}
	for _, want := range []string{"bad_source_configuration", ""} {
		s, err := connectors.All().Dial(t.Context(), c)
		if err == nil {
			_ = s.Close()
		}
		if got := remote.Exception(err); got != want {
			t.Errorf("dial: %v (%q), want %q", err, got, want)
		}
		if err := held.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	c.IdentityAgent = filepath.Join(dir, "none.sock")
	if _, err := connectors.All().Dial(t.Context(), c); remote.Exception(err) != "bad_source_configuration" || !strings.Contains(err.Error(), "none.sock") {
		t.Errorf("without an agent: %v", err)
	}
}

func serveAgent(t *testing.T, held agent.Agent) (socket string) {
	t.Helper()
	short, err := os.MkdirTemp("", "agent") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = agent.ServeAgent(held, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// The check shows the key of a certificate, which then may be pinned: it alone counts,
// whoever vouches for it, on data connections too.
func TestPinnedCertificates(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, TLS: "ftpes"})
	servers.Need(t, err)
	t.Cleanup(ftpd.Stop)
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, TLS: true})
	servers.Need(t, err)
	t.Cleanup(nginx.Stop)
	for url, ca := range map[string]string{ftpd.URL("/"): ftpd.CAFile, nginx.URL("/"): nginx.CAFile} {
		pin := ""
		for _, step := range connectors.All().Check(t.Context(), remote.Config{URL: url, CAFile: ca}, nil) {
			if found := regexp.MustCompile(`sha256//\S+`).FindString(step.Detail); step.Name == "certificate" {
				pin = found
			}
		}
		other := "sha256//" + strings.Repeat("A", 43) + "="
		for _, tt := range []struct {
			pins []string
			want string
		}{
			{[]string{pin}, ""},
			{[]string{other, pin}, ""},
			{[]string{other}, "certificate_not_trusted"},
			{[]string{"sha256//short"}, "bad_source_configuration"},
			{[]string{strings.TrimPrefix(pin, "sha256//")}, "bad_source_configuration"},
		} {
			s, err := connectors.All().Dial(t.Context(), remote.Config{URL: url, CertificatePin: tt.pins})
			if got := remote.Exception(err); got != tt.want {
				t.Errorf("%s pinned as %q: %v (%q), want %q", url, tt.pins, err, got, tt.want)
			}
			if tt.want == "certificate_not_trusted" && err != nil && (!strings.Contains(err.Error(), pin) || !strings.Contains(err.Error(), other)) {
				t.Errorf("the error shows not both keys: %v", err)
			}
			if err != nil {
				continue
			}
			if _, err := remotetest.Listed(t, s, ""); err != nil {
				t.Errorf("%s: list: %v", url, err)
			}
			_ = s.Close()
		}
	}
}
