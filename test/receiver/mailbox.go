package receiver

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Letter is a mail as the server got it.
type Letter struct {
	To      []string
	Header  mail.Header
	Subject string // decoded
	Text    string // decoded
	Raw     string
}

// Mailbox is a mail server on loopback: STARTTLS with a certificate of its own, and one
// user. Its certificate's authority is the file CA.
type Mailbox struct {
	Addr, CA           string
	Username, Password string

	mu      sync.Mutex
	letters []Letter
	answer  func(command string) string
	tls     *tls.Config
	always  bool
}

// NewMailbox starts a server that ends with the test. With always it is encrypted from
// the first byte.
func NewMailbox(t testing.TB, always bool) *Mailbox {
	t.Helper()
	b := &Mailbox{Username: "tributary", Password: "s3cret", always: always}
	b.certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.Addr = l.Addr().String()
	var served sync.WaitGroup
	t.Cleanup(func() { l.Close(); served.Wait() })
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { b.serve(c) })
		}
	})
	return b
}

// Answer has the server answer commands, such as RCPT or END after a mail's text, with
// what a function says; empty: as it would.
func (b *Mailbox) Answer(f func(command string) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

// Letters are the mails that were taken, in order.
func (b *Mailbox) Letters() []Letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.letters)
}

func (b *Mailbox) certificate(t testing.TB) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mailbox"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	b.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	b.CA = filepath.Join(t.TempDir(), "mailbox.pem")
	if err := os.WriteFile(b.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// session is one connection to the server.
type session struct {
	b         *Mailbox
	c         net.Conn
	r         *bufio.Reader
	encrypted bool
	loggedIn  bool
	to        []string
}

func (b *Mailbox) serve(c net.Conn) {
	if b.always {
		c = tls.Server(c, b.tls)
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	s := &session{b: b, c: c, r: bufio.NewReader(c), encrypted: b.always}
	defer func() { s.c.Close() }()
	s.say("220 mailbox")
	for {
		text, err := s.r.ReadString('\n')
		if err != nil || !s.command(strings.TrimRight(text, "\r\n")) {
			return
		}
	}
}

func (s *session) say(text string) { _, _ = io.WriteString(s.c, text+"\r\n") }

// command answers one command; false: the session is over.
func (s *session) command(text string) bool {
	name := strings.ToUpper(strings.SplitN(text, " ", 2)[0])
	s.b.mu.Lock()
	answer := s.b.answer
	s.b.mu.Unlock()
	if answer != nil {
		if a := answer(text); a != "" {
			s.say(a)
			return true
		}
	}
	switch name {
	case "EHLO":
		s.say("250-mailbox")
		if s.encrypted {
			s.say("250 AUTH PLAIN")
		} else {
			s.say("250 STARTTLS")
		}
	case "STARTTLS":
		s.say("220 go on")
		s.c, s.encrypted = tls.Server(s.c, s.b.tls), true
		s.r = bufio.NewReader(s.c)
	case "AUTH":
		want := base64.StdEncoding.EncodeToString([]byte("\x00" + s.b.Username + "\x00" + s.b.Password))
		if s.loggedIn = s.encrypted && text == "AUTH PLAIN "+want; !s.loggedIn {
			s.say("535 no")
			return true
		}
		s.say("235 yes")
	case "MAIL":
		if !s.loggedIn {
			s.say("530 log in")
			return true
		}
		s.to = nil
		s.say("250 ok")
	case "RCPT":
		s.to = append(s.to, strings.Trim(text[len("RCPT TO:"):], "<>"))
		s.say("250 ok")
	case "DATA":
		s.say("354 go on")
		return s.data(answer)
	case "QUIT":
		s.say("221 bye")
		return false
	default:
		s.say("250 ok")
	}
	return true
}

func (s *session) data(answer func(string) string) bool {
	var raw strings.Builder
	for {
		text, err := s.r.ReadString('\n')
		if err != nil {
			return false
		}
		if text == ".\r\n" {
			break
		}
		raw.WriteString(strings.TrimPrefix(text, "."))
	}
	if answer != nil {
		if a := answer("END"); a != "" {
			s.say(a)
			return true
		}
	}
	l := Letter{To: s.to, Raw: raw.String()}
	if m, err := mail.ReadMessage(strings.NewReader(l.Raw)); err == nil {
		l.Header = m.Header
		l.Subject, _ = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		text, _ := io.ReadAll(quotedprintable.NewReader(m.Body))
		l.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	s.b.mu.Lock()
	s.b.letters = append(s.b.letters, l)
	s.b.mu.Unlock()
	s.say("250 taken")
	return true
}
