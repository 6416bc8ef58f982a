package ftp

import (
	"net"
	"strconv"
	"time"

	"tributary/internal/remote"
)

// ftpData is a data connection. Only the server's silence counts: a caller may
// take its time between two reads.
type ftpData struct {
	net.Conn
	idle time.Duration
}

// Read reads, and gives the server the whole idle time for it.
func (d *ftpData) Read(b []byte) (int, error) {
	// A handshake writes, too.
	if err := d.SetDeadline(time.Now().Add(d.idle)); err != nil {
		return 0, err
	}
	return d.Conn.Read(b)
}

// Handshake begins the encryption, if there is any, of a transfer of nothing: no byte
// that is read or written does.
func (d *ftpData) Handshake() error {
	encrypted, ok := d.Conn.(*encryptedData)
	if !ok {
		return nil
	}
	if err := d.SetDeadline(time.Now().Add(d.idle)); err != nil {
		return err
	}
	return remote.TLSError("verify certificate of the data connection of", encrypted.server, encrypted.Conn.Handshake())
}

// dialData connects for one transfer, to the host of the control connection
// whatever the server says: nobody can send us to a third party.
func (s *ftpSession) dialData(_, addr string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, remote.Broken("protocol_error", "it names no port for the data connection: %s", port)
	}
	host, _, err := net.SplitHostPort(s.control.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	// Who reads waits no longer than the idle time, so nothing has to keep it alive.
	conn, err := (&net.Dialer{Timeout: s.cfg.ConnectTimeout, KeepAlive: -1}).DialContext(s.ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		_ = conn.Close()
		return nil, s.lost
	}
	s.data = conn
	if s.tls != nil {
		conn = s.encryptData(conn)
	}
	data := &ftpData{conn, s.cfg.IdleTimeout}
	if s.listing != nil {
		s.listing.Conn = data
		return s.listing, nil
	}
	return data, nil
}
