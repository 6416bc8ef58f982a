package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// tlsConfig is how a server's certificate is verified, which can't be turned off:
// by the authorities of ca_file, or the system's.
func tlsConfig(c Config, t Target) (*tls.Config, error) {
	roots, err := trusted(c.CAFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{ServerName: t.Host, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// trusted reads the authorities of a file; nil are the system's.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(file)
	if err == nil && !roots.AppendCertsFromPEM(pem) {
		err = errors.New("it has no certificate in PEM form")
	}
	if err != nil {
		return nil, &Error{Op: "read ca_file", Path: file, class: Misconfigured, Err: err}
	}
	return roots, nil
}

// encrypt verifies who a server is, on a connection to it.
func encrypt(ctx context.Context, conn net.Conn, verify *tls.Config, step func(name, detail string)) (*tls.Conn, error) {
	step("certificate", "")
	encrypted := tls.Client(conn, verify)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	shown := encrypted.ConnectionState().PeerCertificates[0]
	step("certificate", fmt.Sprintf("of %s, by %s, until %s", verify.ServerName, shown.Issuer, shown.NotAfter.UTC().Format(time.DateOnly)))
	return encrypted, nil
}

// tlsError gives an error of TLS its class, where it has one.
func tlsError(op, p string, err error) error {
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &untrusted):
		return &Error{Op: op, Path: p, Err: err, class: HostKey, exception: "certificate_not_trusted"}
	case errors.As(err, &record), errors.As(err, &alert):
		return &Error{Op: op, Path: p, Err: err, class: Protocol}
	}
	return err
}
