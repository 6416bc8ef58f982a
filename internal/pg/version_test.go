package pg_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"tributary/internal/pg"
	"tributary/internal/storeversion"
)

func TestServerVersion(t *testing.T) {
	version, err := pg.ServerVersion(t.Context(), database(t))
	if err != nil || version == "" {
		t.Errorf("the engine's version: %q, %v", version, err)
	}
}

// A Postgres that is too old is refused before anything is made in it.
func TestMigrateRefusesAnOldServer(t *testing.T) {
	pool, err := pg.Open(t.Context(), "postgres://u@"+oldPostgres(t)+"/d?sslmode=disable&default_query_exec_mode=simple_protocol", "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	err = pg.Migrate(t.Context(), pool, "control", nil)
	var old *storeversion.TooOldError
	if !errors.As(err, &old) || old.Version != "9.6.24" || !strings.Contains(err.Error(), "must be 15 or newer") {
		t.Errorf("a server of version 9.6: %v", err)
	}
}

// oldPostgres answers the first question for its version, and no other.
func oldPostgres(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	go func() {
		conn, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer conn.Close()
		done <- answerVersion(conn)
	}()
	return l.Addr().String()
}

func answerVersion(conn net.Conn) error {
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	// pgx speaks its simple protocol to servers that say so only.
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for {
		if err := b.Flush(); err != nil {
			return err
		}
		m, err := b.Receive()
		if err != nil {
			return nil //nolint:nilerr // the client has gone
		}
		switch q := m.(type) {
		case *pgproto3.Query:
			if q.String != "SHOW server_version" {
				return fmt.Errorf("an old server was asked %q", q.String)
			}
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("server_version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("9.6.24")}})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Terminate:
			return nil
		}
	}
}
