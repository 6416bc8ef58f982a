// Package storewait waits, at a role's start, for a store that is away, and
// tells that apart from a store that a person has to see to.
package storewait

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/storeversion"
)

// Away tells whether an error of a store may pass by itself: nobody listens, it
// is starting, has no room or too few members yet. It does not where the server
// is too old, refuses the password, the certificate or the right, or lacks the
// database; what isn't known is taken for something that people have to see to.
func Away(err error) bool {
	var tooOld *storeversion.TooOldError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &tooOld) || errors.As(err, &certificate) {
		return false
	}
	var postgres *pgconn.PgError
	if errors.As(err, &postgres) {
		return passing(postgres.Code)
	}
	var kafka *kerr.Error
	if errors.As(err, &kafka) {
		// The brokers that are still to come make the replicas possible.
		return kafka.Retriable || errors.Is(kafka, kerr.InvalidReplicationFactor)
	}
	var clickHouse *clickhouse.Exception
	if errors.As(err, &clickHouse) {
		return !refusing(clickHouse.Code)
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// passing tells whether a code of Postgres is of a class of errors that pass:
// the connection, a transaction that was rolled back, resources, an object that
// is in use, an operator's doing (shutting down, starting), the system, the
// unexpected.
func passing(code string) bool {
	return len(code) == 5 && slices.Contains([]string{"08", "40", "53", "55", "57", "58", "XX"}, code[:2])
}

// refusing tells whether a code of ClickHouse is a refusal of who asks: an
// unknown user, a wrong or missing password, a right that is missing, a failed
// authentication.
func refusing(code int32) bool { return slices.Contains([]int32{192, 193, 194, 497, 516}, code) }
