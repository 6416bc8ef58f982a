package enginetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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
	admin := postgres.DSN(socket, postgres.Name)
	if err := exec1(admin, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("test database: %v", err)
	}
	t.Cleanup(func() {
		if err := exec1(admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return postgres.DSN(socket, name)
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
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
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
	socket := filepath.Join(dir, "s")
	server := postgres.New(postgres.Options{
		DataDir: filepath.Join(dir, "pg"), SocketDir: socket,
		BinDir: found.Postgres[0].BinDir, PasswordRole: pgdoor.User, NoSync: true, Logger: quiet(),
	})
	if err := server.Start(context.Background()); err != nil {
		return "", err
	}
	return socket, nil
}
