package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Servers that are too old are named with their version and what it must be, all
// three by config check --connect, and by roles, which end at their start.
func TestOldServersAreNamed(t *testing.T) {
	brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(kversion.V2_2_0()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(brokers.Close)
	clickHouse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintln(w, "Code: 115, e.displayText() = DB::Exception: Unknown setting client_protocol_version, e.what() = DB::Exception")
	}))
	t.Cleanup(clickHouse.Close)
	text := fmt.Sprintf("postgres: {url: 'postgres://u@%s/d?sslmode=disable&default_query_exec_mode=simple_protocol'}\nkafka: {bootstrap_servers: ['%s']}\nclickhouse: {url: '%s'}\nsources: []\n",
		oldPostgres(t), brokers.ListenAddrs()[0], clickHouse.URL)
	code, stdout, stderr := tributary(t, text, "config", "check", "--connect")
	for _, want := range []string{"postgres: server_too_old: Postgres ", " is version 9.6.24 and must be 15 or newer", "kafka: server_too_old: Kafka ", " and must be 2.3 or newer", "clickhouse: server_too_old: ClickHouse ", " and must be 25 or newer"} {
		if code != exitFailed || !strings.Contains(stdout, want) {
			t.Errorf("config check --connect: exit code %d, want %q in:\n%s%s", code, want, stdout, stderr)
		}
	}
	for name, args := range map[string][]string{"run": {"run", "download"}, "sql": {"sql", "--store", "tracker", "SELECT 1"}} {
		if code, _, stderr := tributary(t, text, args...); code != exitFailed || !strings.Contains(stderr, "server_too_old: Postgres ") || !strings.Contains(stderr, "9.6.24 and must be 15 or newer") {
			t.Errorf("%s: exit code %d\n%s", name, code, stderr)
		}
	}
	if code, _, stderr := tributary(t, text, "sql", "--store", "history", "SELECT 1"); code != exitFailed || !strings.Contains(stderr, "server_too_old: ClickHouse ") {
		t.Errorf("sql on the history: exit code %d\n%s", code, stderr)
	}
}

// oldPostgres answers whoever asks for its version, and understands nothing else.
func oldPostgres(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerVersion(conn)
		}
	}()
	return l.Addr().String()
}

func answerVersion(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8", "server_version": "9.6.24"} {
		b.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		message, err := b.Receive()
		if err != nil {
			return
		}
		query, ok := message.(*pgproto3.Query)
		switch {
		case !ok:
			return
		case query.String == "SHOW server_version":
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("server_version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("9.6.24")}})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
		case strings.HasPrefix(query.String, "--"):
			b.Send(&pgproto3.EmptyQueryResponse{})
		default:
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42601", Message: "syntax error"})
		}
	}
}
