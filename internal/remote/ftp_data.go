package remote

import (
	"context"
	"errors"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// ftpData is a data connection. Only the server's silence counts: a caller may
// take its time between two reads.
type ftpData struct {
	net.Conn
	idle time.Duration
}

// Read reads, and gives the server the whole idle time for it.
func (d *ftpData) Read(b []byte) (int, error) {
	if err := d.SetReadDeadline(time.Now().Add(d.idle)); err != nil {
		return 0, err
	}
	return d.Conn.Read(b)
}

// transfer sends a command that is answered over a data connection, and
// returns that connection.
func (s *ftpSession) transfer(ctx context.Context, command string) (net.Conn, error) {
	if s.features["PRET"] {
		// What it says doesn't matter: the command itself follows.
		if _, err := s.control.expect(200, "PRET %s", command); err != nil && !replied(err) {
			return nil, err
		}
	}
	data, err := s.dialData(ctx)
	if err != nil {
		return nil, err
	}
	code, text, err := s.control.ask("%s", command)
	if err == nil && code != 125 && code != 150 {
		err = &textproto.Error{Code: code, Msg: text}
	}
	if err != nil {
		_ = data.Close()
		return nil, err
	}
	return data, nil
}

// finish closes the data connection and reads the reply that ends the
// transfer.
func (s *ftpSession) finish(data net.Conn) (text string, err error) {
	_ = data.Close()
	s.control.await()
	code, text, err := s.control.reply()
	if err == nil && code/100 != 2 {
		// Some servers say 250 for 226.
		err = refusal(code, 226, text)
	}
	return text, err
}

// replied reports whether err is a server's reply in good order, after which
// the next command can be sent.
func replied(err error) bool {
	var proto *textproto.Error
	return errors.As(err, &proto) && proto.Code != 421
}

// dialData connects for one transfer, to the host of the control connection
// whatever the server says: nobody can send us to a third party.
func (s *ftpSession) dialData(ctx context.Context) (net.Conn, error) {
	port, err := s.passive()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(s.control.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: s.cfg.ConnectTimeout}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		_ = conn.Close()
		return nil, s.lost
	}
	s.data = &ftpData{conn, s.cfg.IdleTimeout}
	return s.data, nil
}

// passive asks for a port to connect to; a server that refuses EPSV is asked by
// PASV from then on.
func (s *ftpSession) passive() (port int, err error) {
	if !s.noEPSV {
		text, err := s.control.expect(229, "EPSV")
		if err == nil {
			if port, ok := parseEPSV(text); ok {
				return port, nil
			}
		} else if !replied(err) {
			return 0, err
		}
		s.noEPSV = true
	}
	text, err := s.control.expect(227, "PASV")
	if err != nil {
		return 0, err
	}
	port, ok := parsePASV(text)
	if !ok {
		return 0, broken("protocol_error", "it names no port for the data connection: %s", text)
	}
	return port, nil
}

// parseEPSV reads "Entering Extended Passive Mode (|||port|)".
func parseEPSV(text string) (port int, ok bool) {
	_, text, ok = strings.Cut(text, "|||")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(text, "|")
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil && n > 0
}

// parsePASV reads "Entering Passive Mode (h1,h2,h3,h4,p1,p2)", brackets or not.
func parsePASV(text string) (port int, ok bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != ',' && (r < '0' || r > '9') })
	for _, word := range words {
		parts := strings.Split(word, ",")
		if len(parts) != 6 {
			continue
		}
		for _, part := range parts {
			n, err := strconv.ParseUint(part, 10, 8)
			if err != nil {
				return 0, false
			}
			port = port<<8&0xffff | int(n)
		}
		return port, port > 0
	}
	return 0, false
}
