package remote

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"tributary/internal/infile"
)

// TLSConfig is how a server's certificate is verified, which can't be turned off:
// by the authorities of ca_file, or the system's, or by certificate_pin alone.
func TLSConfig(c Config, t Target) (*tls.Config, error) {
	roots, err := trusted(c.CAFile)
	if err != nil {
		return nil, err
	}
	verify := &tls.Config{ServerName: t.Host, RootCAs: roots, MinVersion: tls.VersionTLS12}
	if len(c.CertificatePin) == 0 {
		return verify, nil
	}
	for _, pin := range c.CertificatePin {
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(pin, pinPrefix)); !strings.HasPrefix(pin, pinPrefix) || err != nil || len(sum) != sha256.Size {
			return nil, &Error{Op: "read certificate_pin", Class: Misconfigured, Err: fmt.Errorf("%q is not %s and the base64 of 32 bytes", pin, pinPrefix)}
		}
	}
	verify.InsecureSkipVerify = true //nolint:gosec // it is verified by its key, also where a session is resumed
	verify.VerifyConnection = func(state tls.ConnectionState) error { return pinned(c.CertificatePin, state) }
	return verify, nil
}

const pinPrefix = "sha256//"

// pinned holds a certificate's public key against the pins.
func pinned(pins []string, state tls.ConnectionState) error {
	if is := pinOf(state.PeerCertificates[0]); !slices.Contains(pins, is) {
		return &Error{Class: HostKey, Exception: "certificate_not_trusted", Err: fmt.Errorf("the server shows a certificate of the key %s, but certificate_pin expects %s: the server has a new key or somebody is in between; ask its owner, then add the new key", is, strings.Join(pins, " or "))}
	}
	return nil
}

func pinOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return pinPrefix + base64.StdEncoding.EncodeToString(sum[:])
}

// trusted reads the authorities of a file; nil are the system's.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	pem, err := infile.Read(file)
	if err == nil && !roots.AppendCertsFromPEM(pem) {
		err = errors.New("it has no certificate in PEM form")
	}
	if err != nil {
		return nil, &Error{Op: "read ca_file", Path: file, Class: Misconfigured, Err: err}
	}
	return roots, nil
}

// Encrypt verifies who a server is, on a connection to it.
func Encrypt(ctx context.Context, conn net.Conn, verify *tls.Config, step func(name, detail string)) (*tls.Conn, error) {
	step("certificate", "")
	encrypted := tls.Client(conn, verify)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	shown := encrypted.ConnectionState().PeerCertificates[0]
	step("certificate", fmt.Sprintf("of %s, by %s, until %s, key %s", verify.ServerName, shown.Issuer, shown.NotAfter.UTC().Format(time.DateOnly), pinOf(shown)))
	return encrypted, nil
}

// TLSError gives an error of TLS its class, where it has one.
func TLSError(op, p string, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return Wrap(op, p, err)
	}
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &untrusted):
		return &Error{Op: op, Path: p, Err: err, Class: HostKey, Exception: "certificate_not_trusted"}
	case errors.As(err, &record), errors.As(err, &alert):
		return &Error{Op: op, Path: p, Err: err, Class: Protocol}
	}
	return err
}
