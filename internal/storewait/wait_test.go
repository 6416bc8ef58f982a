package storewait_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/storeversion"
	"tributary/internal/storewait"
)

var refused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

func TestAway(t *testing.T) {
	for _, c := range []struct {
		err  error
		away bool
	}{
		{refused, true},
		{&net.DNSError{Err: "no such host", Name: "db", IsNotFound: true}, true},
		{io.EOF, true},
		{context.DeadlineExceeded, true},
		{&pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}, true},
		{&pgconn.PgError{Code: "53300", Message: "too many clients"}, true},
		{&pgconn.PgError{Code: "28P01", Message: "password authentication failed"}, false},
		{&pgconn.PgError{Code: "3D000", Message: "database does not exist"}, false},
		{&pgconn.PgError{Code: "42501", Message: "permission denied"}, false},
		{kerr.CoordinatorNotAvailable, true},
		{kerr.InvalidReplicationFactor, true},
		{kerr.SaslAuthenticationFailed, false},
		{kerr.TopicAuthorizationFailed, false},
		{&clickhouse.Exception{Code: 516, Message: "Authentication failed"}, false},
		{&clickhouse.Exception{Code: 497, Message: "Not enough privileges"}, false},
		{&clickhouse.Exception{Code: 243, Message: "Not enough space"}, true},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, false},
		{&net.OpError{Op: "remote error", Err: &tls.CertificateVerificationError{Err: x509.HostnameError{}}}, false},
		{storeversion.Postgres().TooOld("db", "14"), false},
		{errors.New("the mapping has no table"), false},
	} {
		if got := storewait.Away(fmt.Errorf("ask: %w", c.err)); got != c.away {
			t.Errorf("%v (%T): away %v, want %v", c.err, c.err, got, c.away)
		}
	}
}

// What is waited for is said once per change, in the log and to who asks.
func TestUntilSaysOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var said []string
		answers := []error{refused, refused, refused, io.EOF, io.EOF, nil}
		w := storewait.Waiter{Log: slog.New(slog.NewTextHandler(&log, nil)), Say: func(s string) { said = append(said, s) }}
		err := w.Until(t.Context(), "postgres", func(context.Context) error {
			next := answers[0]
			answers = answers[1:]
			return next
		})
		if err != nil || len(answers) != 0 {
			t.Errorf("%v, %d answers left", err, len(answers))
		}
		if diff := cmp.Diff([]string{"waiting for postgres: dial tcp: connection refused", "waiting for postgres: EOF", ""}, said); diff != "" {
			t.Error(diff)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 {
			t.Errorf("%d warnings, want 2:\n%s", n, &log)
		}
	})
}

func TestUntilEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := storewait.Waiter{Log: slog.New(slog.DiscardHandler), Say: func(string) {}}
		wrong := &pgconn.PgError{Code: "28P01"}
		if err := silent.Until(t.Context(), "postgres", func(context.Context) error { return wrong }); !errors.Is(err, wrong) {
			t.Errorf("a wrong password: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		n := 0
		err := silent.Until(ctx, "kafka", func(context.Context) error {
			if n++; n == 100 {
				stop()
			}
			return refused
		})
		if !errors.Is(err, context.Canceled) || n != 100 {
			t.Errorf("told to stop at the 100th attempt: %v after %d", err, n)
		}
		silent.Give = true
		if err := silent.Until(t.Context(), "kafka", func(context.Context) error { return refused }); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody waits: %v", err)
		}
	})
}
