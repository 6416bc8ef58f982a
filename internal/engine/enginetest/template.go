package enginetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/postgres"
)

// once makes a database for each name that it is asked for, and makes none twice.
type once struct {
	mu   sync.Mutex
	made map[string]func() (string, error) // the database's name
}

// Filled is like [Postgres], and the new database holds what fill puts into one.
// fill is called once per name in a test binary, and what it made is copied for
// each test: to copy a schema takes a fraction of what it takes to migrate one,
// above all with the race detector. So a name stands for what is always the same.
func Filled(t testing.TB, name string, fill func(context.Context, *pgxpool.Pool) error) string {
	t.Helper()
	socket := socketOf(t)
	template, err := shared.templates.get(name, func() (string, error) { return makeTemplate(socket, fill) })
	if err != nil {
		t.Fatalf("make the database %q of which tests get copies: %v", name, err)
	}
	return newDatabase(t, socket, template)
}

// Kept is like [Filled] for what takes long to fill and is only read: the database is
// not copied, and with EnvDir a later test binary finds it again.
func Kept(t testing.TB, name string, fill func(context.Context, *pgxpool.Pool) error) string {
	t.Helper()
	socket := socketOf(t)
	admin := postgres.DSN(socket, postgres.Name)
	if exec1(postgres.DSN(socket, name), "SELECT 1") == nil {
		return postgres.DSN(socket, name)
	}
	fresh, err := makeTemplate(socket, fill)
	if err == nil {
		err = exec1(admin, "ALTER DATABASE "+fresh+" RENAME TO "+name)
	}
	if err != nil {
		t.Fatalf("fill the database %s: %v", name, err)
	}
	return postgres.DSN(socket, name)
}

func (s *once) get(name string, build func() (string, error)) (string, error) {
	s.mu.Lock()
	if s.made == nil {
		s.made = map[string]func() (string, error){}
	}
	database, ok := s.made[name]
	if !ok {
		database = sync.OnceValues(build)
		s.made[name] = database
	}
	s.mu.Unlock()
	return database()
}

// makeTemplate makes and fills a database. Nobody may be connected to one that is
// copied.
func makeTemplate(socket string, fill func(context.Context, *pgxpool.Pool) error) (string, error) {
	name := Name()
	if err := exec1(postgres.DSN(socket, postgres.Name), "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, postgres.DSN(socket, name))
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	return name, fill(ctx, pool)
}
