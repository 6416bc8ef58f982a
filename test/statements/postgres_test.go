//go:build !race

package statements

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/queries/report"
	"tributary/schemas/impc"
	"tributary/sql/beside"
	"tributary/sql/control"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
)

// migrated is a connection to a database that has all stores as the newest migrations
// make them, with the tables of a profile.
func migrated(t *testing.T) *pgx.Conn {
	t.Helper()
	m, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	dsn := enginetest.Filled(t, "statements", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(control.Migrate(ctx, pool), tracker.Migrate(ctx, pool), warehouse.Migrate(ctx, pool), warehouse.Apply(ctx, pool, impc.FS, m))
	})
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	// Names are what is looked at; nothing is waited for.
	if _, err := conn.Exec(t.Context(), "SET statement_timeout = '2min'; SET lock_timeout = '1min'; CREATE ROLE "+report.ReaderRole+"; "+copies); err != nil {
		t.Fatal(err)
	}
	return conn
}

// copies makes the temporary tables that the tracker's writer makes, whose names it puts
// together.
const copies = `DO $$ DECLARE r record; BEGIN
  FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = 'tracker' LOOP
    EXECUTE format('CREATE TEMP TABLE %I (LIKE tracker.%I)', 'tracker_new_' || r.tablename, r.tablename);
  END LOOP;
END $$`

// piece is what separates statements, or holds what looks as if it did.
var piece = regexp.MustCompile(`(?s)'(?:[^']|'')*'|"[^"]*"|\$\$.*?\$\$|--[^\n]*|/\*.*?\*/|;`)

// parts are the statements of a text.
func parts(sql string) (all []string) {
	from := 0
	for _, at := range piece.FindAllStringIndex(sql, -1) {
		if sql[at[0]:at[1]] == ";" {
			all = append(all, sql[from:at[0]])
			from = at[1]
		}
	}
	all = append(all, sql[from:])
	out := all[:0]
	for _, part := range all {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// verb is how a statement begins.
func verb(sql string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(sql, " \t\n("), " ")
	word, _, _ = strings.Cut(word, "\n")
	return strings.ToUpper(word)
}

var temporary = regexp.MustCompile(`(?s)^\s*CREATE TEMP`)

// check prepares a statement: Postgres looks up every name in it and works out the
// types. What has no plan (DDL, LOCK, SET) is executed. Either is undone. It is done in
// a transaction, in which temporary tables stay.
func check(ctx context.Context, tx pgx.Tx, sql string) error {
	for _, part := range parts(beside.Target{From: warehouse.Built, To: warehouse.Schema}.SQL(sql)) {
		inner, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		switch verb(part) {
		case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES", "TABLE", "MERGE":
			_, err = inner.Conn().PgConn().Prepare(ctx, "", part, nil)
		case "SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT", "FETCH", "CLOSE": // names nothing of a schema
		case "COPY":
			_, err = inner.Conn().PgConn().Prepare(ctx, "", copied.ReplaceAllString(part, "SELECT $2 FROM $1"), nil)
		case "VACUUM":
			_, err = inner.Exec(ctx, vacuumed.ReplaceAllString(part, "ANALYZE "), pgx.QueryExecModeSimpleProtocol)
		default:
			_, err = inner.Exec(ctx, part, pgx.QueryExecModeSimpleProtocol)
		}
		if err == nil && temporary.MatchString(part) {
			err = inner.Commit(ctx)
		} else if rerr := inner.Rollback(ctx); rerr != nil {
			return errors.Join(err, rerr)
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, part)
		}
	}
	return nil
}

var (
	copied   = regexp.MustCompile(`(?s)^COPY (\S+) \((.*?)\) FROM STDIN.*$`)
	vacuumed = regexp.MustCompile(`^VACUUM (\([^)]*\) )?`)
)

// inPostgres checks statements in a transaction in which the temporary tables are that
// the program makes.
func inPostgres(t *testing.T, f *found) func(sql string) error {
	tx, err := migrated(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]error{}
	for _, s := range f.statements {
		if _, done := made[s.text]; s.store == postgres && s.why == "" && !done && temporary.MatchString(s.text) {
			err := check(t.Context(), tx, s.text)
			var known *pgconn.PgError
			if errors.As(err, &known) && known.Code == "42P07" { // of the same name in another function
				err = nil
			}
			made[s.text] = err
		}
	}
	return func(sql string) error {
		if err, done := made[sql]; done {
			return err
		}
		return check(t.Context(), tx, sql)
	}
}
