package pgdoor_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/pgdoor"
	"tributary/queries/report"
	"tributary/test/wait"
)

const password = "SECRET"

// world is a database with a door.
type world struct {
	t     *testing.T
	dsn   string // the owner's
	name  string // the database's
	owner *pgx.Conn
	at    string // where the door listens
}

// options are those of a door to a new database, in which there is something to
// read and something that nobody may read.
func options(t *testing.T) (*world, pgdoor.Options) {
	t.Helper()
	w := &world{t: t, dsn: enginetest.Postgres(t)}
	cfg, err := pgx.ParseConfig(w.dsn)
	if err != nil {
		t.Fatal(err)
	}
	w.name = cfg.Database
	if w.owner, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.owner.Close(context.Background()) })
	w.must(`CREATE SCHEMA control; CREATE TABLE control.secret (n int); INSERT INTO control.secret VALUES (7);
		CREATE SCHEMA tracker; CREATE TABLE tracker.t (n int); INSERT INTO tracker.t VALUES (1); CREATE SEQUENCE tracker.s; CREATE VIEW tracker.v AS SELECT n FROM tracker.t; CREATE MATERIALIZED VIEW tracker.m AS SELECT n FROM tracker.t;
		CREATE FUNCTION tracker.writes() RETURNS int LANGUAGE sql AS 'INSERT INTO tracker.t VALUES (2) RETURNING n';
		CREATE SCHEMA warehouse; CREATE TABLE warehouse.w (n int)`)
	return w, pgdoor.Options{
		Addr: "127.0.0.1:0", Socket: filepath.Join(cfg.Host, ".s.PGSQL.5432"), DSN: w.dsn, Database: w.name, Role: report.ReaderRole,
		Prepare: func(ctx context.Context) error { return report.PrepareReader(ctx, w.dsn) }, Password: password,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

// open opens a door, which is closed at the end of the test.
func (w *world) open(o pgdoor.Options) {
	w.t.Helper()
	d, err := pgdoor.Open(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.at = d.Addr()
}

func setUp(t *testing.T) *world {
	t.Helper()
	w, o := options(t)
	w.open(o)
	return w
}

// address is the reader's.
func (w *world) address() string {
	return "postgres://reader:" + password + "@" + w.at + "/" + w.name + "?sslmode=disable"
}

// connect logs in as the reader.
func (w *world) connect() *pgconn.PgConn {
	w.t.Helper()
	conn, err := pgconn.Connect(w.t.Context(), w.address())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// must runs a statement as the owner.
func (w *world) must(sql string) {
	w.t.Helper()
	if _, err := w.owner.Exec(w.t.Context(), sql); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// value is the one value that a statement of the owner gives.
func (w *world) value(sql string) (out string) {
	w.t.Helper()
	if err := w.owner.QueryRow(w.t.Context(), sql).Scan(&out); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// await waits until something is so.
func (w *world) await(what string, so func() bool) {
	w.t.Helper()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-over.C:
			w.t.Fatalf("%s: it never came", what)
		}
	}
}
