package broker

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// loginFrames is how many requests a login may take: the versions, twice for a
// client that asks for a newer one first, the mechanism, and two messages.
const loginFrames = 8

// loginFrame is the largest request of a login, in bytes.
const loginFrame = 4 << 10

// loginKeys are all that a connection may ask for before its user is known.
// Version 0 of SASLHandshake is named because librdkafka looks for it; what
// would follow it, bytes without a frame, is not served. None of them has tagged fields in these versions but ApiVersions, whose body
// is not read: the library's decoder counts on for as many of them as a frame
// says that there are.
func loginKeys() map[int16]versions {
	return map[int16]versions{
		int16(kmsg.ApiVersions): {0, 0}, int16(kmsg.SASLHandshake): {0, 1}, int16(kmsg.SASLAuthenticate): {0, 1},
	}
}

// login finds out who is behind a connection.
func (d *door) login(c net.Conn) (*role, error) {
	if err := c.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return nil, err
	}
	l := &login{door: d}
	for range loginFrames {
		size, err := readSize(c)
		if err != nil {
			return nil, err
		}
		raw, err := readRaw(c, size, sizes{0, loginFrame})
		if err != nil {
			return nil, err
		}
		f, err := decode(raw, loginKeys())
		if err != nil {
			return nil, err
		}
		resp, failed := l.answer(f.req)
		if _, err := c.Write(response(f.corr, resp)); err != nil || failed != nil {
			return nil, errors.Join(failed, err)
		}
		if l.role != nil {
			return l.role, c.SetDeadline(time.Time{})
		}
	}
	return nil, fmt.Errorf("no login within %d requests", loginFrames)
}

// login is the state of one.
type login struct {
	door  *door
	scram *scram
	begun bool // the client's first message was answered
	role  *role
}

// answer answers one request; an error ends the connection after it.
func (l *login) answer(req kmsg.Request) (kmsg.Response, error) {
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return l.door.versions(req, l.door.users[Reader]), nil
	case *kmsg.SASLHandshakeRequest:
		resp := kmsg.NewPtrSASLHandshakeResponse()
		resp.Version = req.Version
		resp.SupportedMechanisms = []string{Mechanism}
		if req.Mechanism != Mechanism || req.Version == 0 {
			resp.ErrorCode = kerr.UnsupportedSaslMechanism.Code
			return resp, errors.New("a mechanism of SASL that is not " + Mechanism)
		}
		l.scram = &scram{c: l.door.credentials}
		return resp, nil
	case *kmsg.SASLAuthenticateRequest:
		resp := kmsg.NewPtrSASLAuthenticateResponse()
		resp.Version = req.Version
		bytes, err := l.authenticate(req.SASLAuthBytes)
		if err != nil {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			text := "login failed: " + err.Error()
			resp.ErrorMessage = &text
		}
		resp.SASLAuthBytes = bytes
		return resp, err
	}
	return nil, fmt.Errorf("key %d before a login", req.Key())
}

func (l *login) authenticate(message []byte) ([]byte, error) {
	switch {
	case l.scram == nil:
		return nil, errors.New("no mechanism was chosen before")
	case !l.begun:
		l.begun = true
		return l.scram.first(message)
	}
	out, err := l.scram.final(message)
	if err == nil {
		l.role = l.door.users[l.scram.user]
	}
	return out, err
}
