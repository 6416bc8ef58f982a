package enginetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine/install"
	"tributary/internal/engine/pgdoor"
	"tributary/internal/engine/postgres"
)

// errMissing is what a start returns when the engine is not installed.
var errMissing = errors.New("missing")

// Postgres returns the address of a new, empty database on the Postgres that
// this test binary shares, to be used with pgx. It is dropped at the end of the
// test, whoever is still connected. The server does not sync to disk.
func Postgres(t testing.TB) string {
	t.Helper()
	return newDatabase(t, socketOf(t), "template1")
}

// socketOf is the directory of the socket of the Postgres that is shared.
func socketOf(t testing.TB) string {
	t.Helper()
	setup()
	socket, err := shared.postgres()
	if errors.Is(err, errMissing) {
		Missing(t, "Postgres")
	}
	if err != nil {
		t.Fatalf("start Postgres for tests: %v", err)
	}
	return socket
}

func newDatabase(t testing.TB, socket, template string) string {
	t.Helper()
	name := Name()
	// Of a server that doesn't sync, files are copied in two thirds of the time of the
	// processor that it takes to copy pages through its log.
	if err := shared.admin.exec(socket, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("test database: %v", err)
	}
	t.Cleanup(func() {
		if err := shared.admin.exec(socket, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return postgres.DSN(socket, name)
}

// admin makes and drops the databases of tests by one connection: to begin one takes the
// server a good part of what it takes to copy a database.
type admin struct {
	mu   sync.Mutex
	conn *pgx.Conn // nil: none has been needed yet
}

// exec executes a statement, on a new connection if a test has ended the old one.
func (a *admin) exec(socket, sql string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx := context.Background()
	if a.conn != nil {
		_, err := a.conn.Exec(ctx, sql)
		if err == nil || !a.conn.IsClosed() {
			return wrapped(sql, err)
		}
	}
	conn, err := pgx.Connect(ctx, postgres.DSN(socket, postgres.Name))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	a.conn = conn
	_, err = conn.Exec(ctx, sql)
	return wrapped(sql, err)
}

// wrapped says of which statement an error is.
func wrapped(sql string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", sql, err)
	}
	return err
}

// Name returns a random name for a database, fit for use without quotes.
func Name() string {
	return "test_" + strings.ToLower(rand.Text()[:12])
}

func exec1(dsn, sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return wrapped(sql, err)
}

// startPostgres starts the binary's Postgres. It ends with the binary, by the
// signal that the kernel sends it then.
func startPostgres() (string, error) {
	found, err := install.Locate("")
	if err != nil {
		return "", err
	}
	if len(found.Postgres) == 0 {
		return "", errMissing
	}
	dir, err := shared.dir()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("where clusters are kept: %w", err)
	}
	socket := filepath.Join(dir, "s")
	server := postgres.New(postgres.Options{
		DataDir: filepath.Join(dir, "pg"), SocketDir: socket,
		BinDir: found.Postgres[0].BinDir, PasswordRole: pgdoor.User, NoSync: true, Kept: filepath.Join(cache, "tributary"), Logger: quiet(),
	})
	if err := server.Start(context.Background()); err != nil {
		return "", err
	}
	return socket, nil
}
