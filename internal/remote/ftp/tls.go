package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"

	"tributary/internal/remote"
)

// protect encrypts the control connection: at once where the scheme is ftps, and
// after AUTH TLS where it is ftpes (RFC 4217). Data connections are encrypted too,
// and resume the TLS session of the control connection, by which servers know that
// both are of the same client.
func (s *ftpSession) protect(ctx context.Context, conn net.Conn, step func(name, detail string)) error {
	verify, err := remote.TLSConfig(s.cfg, s.target)
	if err != nil {
		return err
	}
	verify.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	greeting := ""
	if s.target.Scheme == "ftpes" {
		if greeting, err = s.authTLS(); err != nil {
			return err
		}
	}
	encrypted, err := remote.Encrypt(ctx, conn, verify, step)
	if err != nil {
		return remote.TLSError("verify certificate of", s.target.Server(), err)
	}
	control := newControl(encrypted, s.cfg)
	control.raw, control.ahead = conn, s.control.ahead
	control.out = []byte(greeting)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control, s.tls = control, verify
	return nil
}

// authTLS reads the greeting, and asks for TLS. What else has come before that
// would be taken for the encrypted server's, so it ends the session.
func (s *ftpSession) authTLS() (greeting string, err error) {
	c := s.control
	c.await()
	code, text, err := c.reply()
	if err == nil && code != 220 {
		err = &textproto.Error{Code: code, Msg: text}
	}
	if err != nil {
		return "", c.end(err)
	}
	c.ahead.greeted(text)
	if code, text, err = c.command("AUTH TLS"); err != nil {
		return "", err
	}
	if code != 234 {
		return "", &remote.Error{Op: "encrypt the connection to", Path: s.target.Server(), Class: remote.Protocol, Exception: "encryption_refused",
			Err: fmt.Errorf("the server answers to AUTH TLS: %d %s; nothing is sent without encryption", code, text)}
	}
	if c.in.Buffered() > 0 {
		return "", c.end(remote.Broken("protocol_error", "it says more before the connection is encrypted than it was asked"))
	}
	return "220 encrypted\r\n", nil
}

// protectData asks for encrypted data connections.
func (s *ftpSession) protectData() error {
	for _, command := range []string{"PBSZ 0", "PROT P"} {
		code, text, err := s.control.command(command)
		if err != nil {
			return err
		}
		if code/100 != 2 {
			return &remote.Error{Op: "encrypt data connections of", Path: s.target.Server(), Class: remote.Protocol, Exception: "encryption_refused",
				Err: fmt.Errorf("the server answers to %s: %d %s; nothing is fetched without encryption", command, code, text)}
		}
	}
	return nil
}

// command sends a command in place of the library, and reads the reply.
func (c *ftpControl) command(line string) (code int, text string, err error) {
	if _, err := c.Write([]byte(line + "\r\n")); err != nil {
		return 0, "", err
	}
	code, text, err = c.reply()
	c.asked = false
	if err != nil {
		return 0, "", c.end(err)
	}
	if code < 200 {
		return 0, "", c.end(remote.Broken("protocol_error", "it goes on replying where a command has ended: %d %s", code, text))
	}
	return code, text, nil
}

// Close hangs up, whatever is under way: TLS would wait to say goodbye.
func (c *ftpControl) Close() error { return c.raw.Close() }

// encryptedData is a data connection whose handshake comes with the first byte that
// is read, since servers begin it after they have answered to the command.
type encryptedData struct {
	*tls.Conn
	below   *ending
	server  string
	control *ftpControl
	whole   bool // its end was said
}

func (s *ftpSession) encryptData(conn net.Conn) *encryptedData {
	below := &ending{Conn: conn}
	return &encryptedData{Conn: tls.Client(below, s.tls), below: below, server: s.target.Server(), control: s.control}
}

// Read reads. An end that isn't said within TLS is none, though the library takes it
// for one between two records: anybody on the way could cut a listing there.
func (d *encryptedData) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	d.whole = d.whole || errors.Is(err, io.EOF) && !d.below.ended
	if errors.Is(err, io.EOF) && d.below.ended {
		return n, &remote.Error{Op: "read from", Path: d.server, Class: remote.Connection, Err: errors.New("the data connection ended before the server said so within TLS")}
	}
	return n, remote.TLSError("verify certificate of the data connection of", d.server, err)
}

// Close says goodbye where the transfer is whole, as one to the server is. One that is
// broken off hangs up: there are servers (Pure-FTPd) that go on writing to whoever says
// goodbye.
func (d *encryptedData) Close() error {
	if d.whole || d.control.verb == "STOR" {
		return d.Conn.Close()
	}
	return d.below.Close()
}

// ending is a connection that remembers whether the other side has hung up.
type ending struct {
	net.Conn
	ended bool
}

// Read reads.
func (e *ending) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	e.ended = e.ended || errors.Is(err, io.EOF)
	return n, err
}
