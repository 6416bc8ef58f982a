package sftp_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
)

// hostKeys makes an RSA and an ECDSA host key and the configuration for them.
func hostKeys(t *testing.T, dir string) (lines []string, keys []ssh.PublicKey) {
	t.Helper()
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, private := range map[string]crypto.Signer{"rsa": r, "ecdsa": e} {
		block, err := ssh.MarshalPrivateKey(private, name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "host_"+name)
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		public, err := ssh.NewPublicKey(private.Public())
		if err != nil {
			t.Fatal(err)
		}
		lines, keys = append(lines, fmt.Sprintf("HostKey %q", file)), append(keys, public)
	}
	return lines, keys
}
