package pgdoor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Codes that stand where the protocol's version does.
const (
	codeCancel = 1234<<16 | 5678
	codeTLS    = 1234<<16 | 5679
	codeGSS    = 1234<<16 | 5680
)

const (
	// maxStartup is the most bytes of a first message, as Postgres has it.
	maxStartup = 10000
	// maxParameters bounds what a first message sets.
	maxParameters = 32
)

// parameter is a name and a value of a startup message.
type parameter struct{ name, value string }

// startup is what a connection begins with.
type startup struct {
	version    uint32
	parameters []parameter
	cancel     []byte // of a request to cancel: the process and its key; else nil
}

// refusal is an answer in Postgres' words, by a code of its own.
type refusal struct{ code, message, hint string }

// Error implements error.
func (r *refusal) Error() string { return r.message }

// answer writes the refusal as Postgres does.
func (r *refusal) answer(w io.Writer) error {
	var b []byte
	for _, f := range []struct {
		kind byte
		text string
	}{{'S', "FATAL"}, {'V', "FATAL"}, {'C', r.code}, {'M', r.message}, {'H', r.hint}} {
		if f.text != "" {
			b = append(append(append(b, f.kind), f.text...), 0)
		}
	}
	_, err := w.Write(message('E', append(b, 0)))
	return err
}

// message is one message of the protocol.
func message(kind byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}

// readStartup reads the first message, after having declined encryption as often
// as there are kinds of it.
func readStartup(c net.Conn) (*startup, error) {
	for range 3 {
		body, err := readStartupBody(c)
		if err != nil {
			return nil, err
		}
		code, rest := binary.BigEndian.Uint32(body), body[4:]
		switch code {
		case codeTLS, codeGSS:
			if _, err := c.Write([]byte{'N'}); err != nil {
				return nil, err
			}
			continue
		case codeCancel:
			return &startup{cancel: rest}, nil
		}
		if code>>16 != 3 {
			return nil, &refusal{"0A000", fmt.Sprintf("the protocol's version %d is not served here: it is 3", code>>16), ""}
		}
		parameters, err := parseParameters(rest)
		return &startup{version: code, parameters: parameters}, err
	}
	return nil, &refusal{"08P01", "encryption was declined: a startup message has to follow", ""}
}

// readStartupBody reads a message without a type, which the first one is.
func readStartupBody(c net.Conn) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 8 || n > maxStartup {
		return nil, &refusal{"08P01", fmt.Sprintf("a first message has from 8 to %d bytes, not %d: is TLS or another protocol spoken?", maxStartup, n), "Set sslmode=disable."}
	}
	body := make([]byte, n-4)
	_, err := io.ReadFull(c, body)
	return body, err
}

// parseParameters reads names and values, each of which ends with a zero byte.
func parseParameters(b []byte) ([]parameter, error) {
	wrong := &refusal{"08P01", "the startup message can't be read", ""}
	if len(b) == 0 || b[len(b)-1] != 0 {
		return nil, wrong
	}
	fields := bytes.Split(b[:len(b)-1], []byte{0})
	if len(fields[len(fields)-1]) != 0 || len(fields)%2 != 1 || len(fields)/2 > maxParameters {
		return nil, wrong
	}
	var out []parameter
	seen := map[string]bool{}
	for i := 0; i+1 < len(fields); i += 2 {
		p := parameter{string(fields[i]), string(fields[i+1])}
		// Postgres takes the last of two, and who checks might look at the first.
		if p.name == "" || seen[p.name] {
			return nil, wrong
		}
		seen[p.name] = true
		out = append(out, p)
	}
	return out, nil
}

// get is the value of a parameter, empty where it is not given.
func (s *startup) get(name string) string {
	for _, p := range s.parameters {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// check refuses whom the door is not for.
func (s *startup) check(database string) error {
	if user := s.get("user"); user != User {
		return &refusal{"28000", fmt.Sprintf("only the user %q comes in here, not %.63q", User, user), ""}
	}
	if at := s.get("database"); at != database {
		return &refusal{"3D000", fmt.Sprintf("only the database %q is served here, not %.63q", database, at), fmt.Sprintf("Connect with the database %s.", database)}
	}
	if s.get("replication") != "" {
		return &refusal{"28000", "replication is not served here", ""}
	}
	return nil
}

// encode writes the startup message anew.
func (s *startup) encode() []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 4), s.version)
	for _, p := range s.parameters {
		b = append(append(append(append(b, p.name...), 0), p.value...), 0)
	}
	b = append(b, 0)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

// turnedAway answers a connection that is refused, and returns why.
func turnedAway(c io.Writer, err error) error {
	var r *refusal
	if errors.As(err, &r) {
		return errors.Join(err, r.answer(c))
	}
	return err
}
