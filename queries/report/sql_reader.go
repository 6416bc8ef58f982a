package report

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/engine/postgres"
	"tributary/internal/pg"
)

// ReaderRole is the role of Postgres that statements of people run as. It may
// read the tracker and the warehouse, and write nothing. Whoever connects as it
// can't become another one, whatever the statement says: so the connection is the
// role's own, not one of a mightier role that took it on for a while.
const ReaderRole = "tributary_reader"

// errNoReader says that nobody can connect as the reader.
var errNoReader = errors.New("no connection as " + ReaderRole)

// connectReader opens a connection as the reader. The role is made by whoever
// asks first.
func (p Postgres) connectReader(ctx context.Context) (*pgx.Conn, error) {
	cfg := p.Pool.Config().ConnConfig.Copy()
	owner := cfg.Password
	cfg.User, cfg.Password, cfg.BuildFrontend = ReaderRole, readerPassword(owner), narrow
	var there bool
	if err := p.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", ReaderRole).Scan(&there); err != nil {
		return nil, err
	}
	if !there { // a server writes down whom it refuses
		if err := p.makeReader(ctx, cfg.Password); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if refused(err) {
		if err := p.makeReader(ctx, cfg.Password); err != nil {
			return nil, err
		}
		conn, err = pgx.ConnectConfig(ctx, cfg)
	}
	if refused(err) {
		return nil, fmt.Errorf("%w: %w", errNoReader, err)
	}
	if err != nil {
		return nil, err
	}
	// Somebody may have given it more since, and what was made since it does
	// not see yet.
	var mighty, blind, loose bool
	if err := conn.QueryRow(ctx, `SELECT
		(SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
			OR EXISTS (SELECT FROM pg_auth_members WHERE member = current_user::regrole),
		EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE `+readable+` AND c.relkind IN ('r', 'p', 'v', 'm') AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))),
		(SELECT rolconfig @> $1 FROM pg_roles WHERE rolname = current_user) IS NOT TRUE
			OR current_setting('cluster_name') = $2 AND (`+making+` OR EXISTS (SELECT FROM pg_proc p WHERE `+reaching+` AND has_function_privilege(p.oid, 'EXECUTE')))`,
		readerLimits(), postgres.Name).Scan(&mighty, &blind, &loose); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	if mighty {
		return nil, errors.Join(fmt.Errorf("the role %s may more than read: take its attributes away with ALTER ROLE, and its memberships with REVOKE", ReaderRole), conn.Close(ctx))
	}
	if blind {
		if err := p.show(ctx); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
	}
	if loose {
		if err := p.curb(ctx); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
	}
	return conn, nil
}

// PrepareReader makes the role [ReaderRole] in the database at dsn as statements
// need it, and shows it what has come since: for others whom Postgres lets in with
// its rights.
func PrepareReader(ctx context.Context, dsn string) error {
	pool, err := pg.Open(ctx, dsn, "tributary reader", 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := Postgres{Pool: pool}.connectReader(ctx)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// readable are the schemas that people read. One that a build makes beside them
// gets its rights when it takes its place; until then only the build changes it.
const readable = `n.nspname IN ('tracker', 'warehouse')`

// show lets the reader see all tables that are there now: migrations make new
// ones. What one under way makes is shown to whoever asks after it.
func (p Postgres) show(ctx context.Context) error {
	schemas, err := pg.List(ctx, p.Pool, "let the role "+ReaderRole+" read", pgx.RowTo[string], "SELECT n.nspname FROM pg_namespace n WHERE "+readable)
	if err != nil {
		return err
	}
	for _, s := range schemas {
		err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '2s'"); err != nil {
				return err
			}
			// Postgres refuses rights on what is changed at the same moment.
			if err := pg.LockSchema(ctx, tx, s); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "GRANT USAGE ON SCHEMA "+s+" TO "+ReaderRole+"; GRANT SELECT ON ALL TABLES IN SCHEMA "+s+" TO "+ReaderRole)
			return err
		})
		if err != nil && !underWay(err) {
			return fmt.Errorf("let the role %s read the schema %s: %w", ReaderRole, s, err)
		}
	}
	return nil
}

// underWay says that somebody else is at work on a schema.
func underWay(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "55P03"
}

// readerPassword follows from the password of the configured role, so that
// nobody needs to keep it; empty where there is none, as on the embedded engine.
func readerPassword(owner string) string {
	if owner == "" {
		return ""
	}
	m := hmac.New(sha256.New, []byte(owner))
	m.Write([]byte(ReaderRole))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// refused says that the server does not let the reader in: it is not there, or
// has another password, or the server's rules don't name it.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "28000" || e.Code == "28P01")
}

// makeReader makes the role, with limits that it can't lift where the server
// lets us set them.
func (p Postgres) makeReader(ctx context.Context, password string) error {
	secret := "NULL"
	if password != "" {
		secret = "'" + password + "'" // of letters, digits, - and _
	}
	err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		// Those who ask at the same time take turns.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", ReaderRole); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", ReaderRole).Scan(&there); err != nil {
			return err
		}
		verb := "CREATE"
		if there {
			verb = "ALTER"
		}
		for _, s := range []string{
			verb + " ROLE " + ReaderRole + " LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD " + secret,
			limitReader(),
		} {
			if _, err := tx.Exec(ctx, s); err != nil {
				return err
			}
		}
		// Only a superuser may give this limit, and the reader can't change it.
		err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
			_, err := inner.Exec(ctx, "ALTER ROLE "+ReaderRole+" SET temp_file_limit = '4GB'")
			return err
		})
		if denied(err) {
			return nil
		}
		return err
	})
	if denied(err) {
		return fmt.Errorf("%w: %w", errNoReader, err)
	}
	if err != nil {
		return fmt.Errorf("make the role %s: %w", ReaderRole, err)
	}
	return nil
}

// denied says that the configured role may not do that.
func denied(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "42501"
}
