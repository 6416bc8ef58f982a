package sftp_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// A host certificate, signed by an authority that known_hosts names.
func TestHostCertificateOnOpenSSH(t *testing.T) {
	dir := t.TempDir()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certFile := filepath.Join(dir, "host_key-cert.pub")
	sshd, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: dir, Extra: []string{fmt.Sprintf("HostCertificate %q", certFile)}})
	servers.Need(t, err)
	t.Cleanup(sshd.Stop)
	// The server makes its key when it starts, so it gets the certificate by a
	// restart.
	cert := &ssh.Certificate{Key: sshd.HostKey, CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, ssh.MarshalAuthorizedKey(cert), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sshd.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, key := range map[string]ssh.PublicKey{"": authority.PublicKey(), "host_key_mismatch": otherKey(t)} {
		line := fmt.Sprintf("@cert-authority %s %s", knownhosts.Normalize(sshd.Addr), ssh.MarshalAuthorizedKey(key))
		s, err := connectors.All().Dial(t.Context(), remote.Config{URL: sshd.URL("/"), IdentityFile: sshd.IdentityFile, KnownHosts: remotetest.File(t, line)})
		if err == nil {
			_ = s.Close()
		}
		if got := remote.Exception(err); got != want {
			t.Errorf("dial: %v (%q), want %q", err, got, want)
		}
	}
}
