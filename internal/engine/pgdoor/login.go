package pgdoor

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// maxLogin is the most bytes of one message while somebody logs in.
	maxLogin = 64 << 10
	// loginMessages is how many of Postgres' messages a login takes at most.
	loginMessages = 200
)

// What Postgres asks for, as the first number of its message R.
const (
	authOK       = 0
	authSASL     = 10
	authContinue = 11
	authFinal    = 12
)

// login finds out who is behind a connection: it is nil where nobody is who wants
// to stay, as behind a request to cancel. Places are those of sessions; the one
// that is taken is given back by the caller.
func (d *Door) login(c net.Conn, places chan struct{}) (*session, error) {
	first, err := readStartup(c)
	if err != nil {
		return nil, turnedAway(c, err)
	}
	if first.cancel != nil {
		d.forwardCancel(first.cancel)
		return nil, nil
	}
	if err := first.check(d.o.Database); err != nil {
		return nil, turnedAway(c, err)
	}
	if err := d.prepare(d.entrance.Context()); err != nil {
		return nil, errors.Join(err, (&refusal{"57P03", "the database can't be prepared for readers at the moment: try again; the log of Tributary says why", ""}).answer(c))
	}
	server, err := d.dial()
	if err != nil {
		return nil, errors.Join(err, (&refusal{"57P03", "the database does not run at the moment: try again", ""}).answer(c))
	}
	s := &session{door: d, client: c, server: server, fromClient: bufio.NewReader(c), fromServer: bufio.NewReader(server)}
	if err := s.login(first, places); err != nil {
		return nil, errors.Join(turnedAway(c, err), server.Close())
	}
	return s, nil
}

// dial reaches Postgres by its socket.
func (d *Door) dial() (net.Conn, error) {
	dialer := net.Dialer{Timeout: loginTime}
	server, err := dialer.DialContext(d.entrance.Context(), "unix", d.o.Socket)
	if err != nil {
		return nil, fmt.Errorf("reach Postgres: %w", err)
	}
	return server, server.SetDeadline(time.Now().Add(loginTime))
}

// login carries the conversation of a login to its end. Postgres asks for the
// password; what it says is looked at so that nobody comes in without one.
func (s *session) login(first *startup, places chan struct{}) error {
	// Whoever is shut out meanwhile must not keep the other side waiting.
	defer context.AfterFunc(s.door.entrance.Context(), func() { _ = s.server.Close() })()
	if _, err := s.server.Write(first.encode()); err != nil {
		return fmt.Errorf("reach Postgres: %w", err)
	}
	proven := false
	for range loginMessages {
		kind, body, err := readMessage(s.fromServer, maxLogin)
		if err != nil {
			return fmt.Errorf("what Postgres says to a login: %w", err)
		}
		asks := false
		switch kind {
		case 'R':
			if asks, err = s.asked(body, &proven); err != nil {
				return err
			}
		case 'K':
			if len(body) < 8 {
				return errors.New("Postgres tells no key of a session")
			}
			s.pid, s.key = binary.BigEndian.Uint32(body), body[4:]
		case 'Z':
			if err := s.enter(proven, places); err != nil {
				return err
			}
			_, err := s.client.Write(message(kind, body))
			if err != nil {
				<-places
				s.end()
			}
			return err
		}
		if _, err := s.client.Write(message(kind, body)); err != nil {
			return err
		}
		if kind == 'E' {
			return fmt.Errorf("Postgres lets nobody in: %s", errorText(body))
		}
		if asks {
			if err := s.passAnswer(); err != nil {
				return err
			}
		}
	}
	return errors.New("a login without an end")
}

// asked looks at what Postgres asks for; asks says that the client has to answer.
func (s *session) asked(body []byte, proven *bool) (asks bool, err error) {
	if len(body) < 4 {
		return false, errors.New("Postgres asks for nothing")
	}
	switch binary.BigEndian.Uint32(body) {
	case authSASL, authContinue:
		return true, nil
	case authFinal:
		*proven = true
		return false, nil
	case authOK:
		if *proven {
			return false, nil
		}
	}
	return false, errors.New("Postgres does not ask for a password by SCRAM")
}

// passAnswer passes one message of a client on that answers Postgres.
func (s *session) passAnswer() error {
	kind, body, err := readMessage(s.fromClient, maxLogin)
	if err != nil {
		return err
	}
	if kind != 'p' {
		return &refusal{"08P01", "a password was expected", ""}
	}
	_, err = s.server.Write(message(kind, body))
	return err
}

// enter takes a place for a session that has logged in, and confines its process.
func (s *session) enter(proven bool, places chan struct{}) error {
	if !proven || s.key == nil {
		return errors.New("Postgres lets somebody in without a password")
	}
	select {
	case places <- struct{}{}:
	default:
		return &refusal{"53300", fmt.Sprintf("%d sessions are open, and there are no more: close one", sessions), ""}
	}
	if err := confine(int(s.pid)); err != nil {
		<-places
		return errors.Join(err, &refusal{"53000", "the session can't be confined: the log of Tributary says why", ""})
	}
	s.door.mu.Lock()
	s.door.keys[s.pid] = s.key
	s.door.mu.Unlock()
	return nil
}

// readMessage reads one message of at most so many bytes.
func readMessage(r io.Reader, most uint32) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n < 4 || n-4 > most {
		return 0, nil, &refusal{"08P01", fmt.Sprintf("a message of %d bytes: it has at most %d here", n, most), ""}
	}
	body = make([]byte, n-4)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

// errorText is the text of an error of Postgres', without its other fields.
func errorText(body []byte) string {
	for len(body) > 1 {
		kind := body[0]
		end := 1
		for end < len(body) && body[end] != 0 {
			end++
		}
		if kind == 'M' {
			return string(body[1:end])
		}
		body = body[min(end+1, len(body)):]
	}
	return "it does not say why"
}
