package http_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

// certified serves nothing, with a certificate of an address for some time, and says by
// what it is known: the certificate, and the pin of its key.
func certified(t *testing.T, of net.IP, from, until time.Duration) (url, ca, pin string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until), IPAddresses: []net.IP{of}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return s.URL, remotetest.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))), "sha256//" + base64.StdEncoding.EncodeToString(sum[:])
}

// A certificate counts while it is valid, for the server that it names. A pin is of its
// key: that stays who it is when the certificate has run out.
func TestHTTPSCertificates(t *testing.T) {
	ours, day := net.IPv4(127, 0, 0, 1), 24*time.Hour
	for about, tt := range map[string]struct {
		of          net.IP
		from, until time.Duration
		pinned      bool
		says        string // of what is wrong; empty: nothing is
	}{
		"valid":           {ours, -day, day, false, ""},
		"ran out":         {ours, -2 * day, -time.Hour, false, "is after"},
		"not yet valid":   {ours, time.Hour, day, false, "is before"},
		"another's":       {net.IPv4(127, 0, 0, 2), -day, day, false, "127.0.0.2"},
		"ran out, pinned": {ours, -2 * day, -time.Hour, true, ""},
	} {
		t.Run(about, func(t *testing.T) {
			url, ca, pin := certified(t, tt.of, tt.from, tt.until)
			c := remote.Config{URL: url, CAFile: ca}
			if tt.pinned {
				c.CertificatePin = []string{pin}
			}
			s, err := connectors.All().Dial(t.Context(), c)
			if err == nil {
				_ = s.Close()
			}
			want := ""
			if tt.says != "" {
				want = "certificate_not_trusted"
			}
			if remote.Exception(err) != want || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v (%s), want %q, which says %q", err, remote.Exception(err), want, tt.says)
			}
		})
	}
}
