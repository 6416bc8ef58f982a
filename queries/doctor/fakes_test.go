package doctor_test

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// server is the address of a Postgres that answers as talk does.
func server(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				talk(c)
			}()
		}
	}()
	return l.Addr().String()
}

// plainPostgres knows no TLS.
func plainPostgres(t *testing.T) string {
	return server(t, func(c net.Conn) {
		if _, err := pgproto3.NewBackend(c, c).ReceiveStartupMessage(); err == nil {
			_, _ = c.Write([]byte("N"))
		}
	})
}

// oldPostgres says that it is 9.6, and answers nothing else.
func oldPostgres(t *testing.T) string {
	return server(t, func(c net.Conn) {
		b := pgproto3.NewBackend(c, c)
		if _, err := b.ReceiveStartupMessage(); err != nil {
			return
		}
		b.Send(&pgproto3.AuthenticationOk{})
		b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
		b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		for b.Flush() == nil {
			m, err := b.Receive()
			if err != nil {
				return
			}
			if _, is := m.(*pgproto3.Query); !is {
				return
			}
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("server_version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("9.6.24")}})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		}
	})
}
