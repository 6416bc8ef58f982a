package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/sql/control"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
)

// maxSkew is how far two clocks may be apart: leases and outboxes go by those of the
// databases, everything else by the members' own.
const maxSkew = 2 * time.Second

const application = "tributary doctor"

func (s *stores) pool(ctx context.Context) (*pgxpool.Pool, error) {
	return pg.Open(ctx, s.postgresAt, application, 1)
}

func (s *stores) postgres(ctx context.Context, r *report) {
	const key = "postgres.url"
	if s.postgresAt == "" {
		s.unreached(r, s.embedded().Postgres, key)
		return
	}
	pool, err := s.pool(ctx)
	if err != nil {
		r.found(CheckFailed, key, "correct it: postgres://user@host:5432/database", "%s", err)
		return
	}
	defer pool.Close()
	version, err := pg.ServerVersion(ctx, pool)
	if err != nil {
		refusedByPostgres(r, key, err)
		return
	}
	r.ok(key, "connected, version %s", version)
	for _, ask := range []func(context.Context, *report, *pgxpool.Pool) error{postgresRights, s.postgresSettings, s.postgresClock, migrations} {
		if err := ask(ctx, r, pool); err != nil {
			r.failed(key, err)
			return
		}
	}
}

// refusedByPostgres says why a Postgres lets nobody in.
func refusedByPostgres(r *report, key string, err error) {
	var answered *pgconn.PgError
	errors.As(err, &answered)
	switch {
	case answered != nil && (strings.HasPrefix(answered.Code, "28") || answered.Code == "42501"):
		r.found(LoginRefused, key, "correct user and password in "+key+", or let the user in on the server (pg_hba.conf)", "%s", err)
	case answered != nil && answered.Code == "3D000":
		r.found(DatabaseMissing, key, "CREATE DATABASE on the server, with encoding UTF8 and owned by this user, or correct the name in "+key, "%s", err)
	case answered != nil && answered.Code == "53300":
		r.found(ConnectionsFew, key, "raise max_connections of the server, or the limit of the database or the user; or lower postgres.max_connections", "%s", err)
	case strings.Contains(err.Error(), "refused TLS") || strings.Contains(err.Error(), "tls:"):
		r.found(SecurityMismatch, key, "correct sslmode in "+key+", or switch TLS on at the server", "%s", err)
	default:
		unanswered(r, key, err)
	}
}

func postgresRights(ctx context.Context, r *report, pool *pgxpool.Pool) error {
	var user, database string
	var create bool
	if err := pool.QueryRow(ctx, "SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE')").Scan(&user, &database, &create); err != nil {
		return fmt.Errorf("ask for the rights: %w", err)
	}
	good := create
	if !create {
		r.found(RightsMissing, "postgres.url", fmt.Sprintf("ALTER DATABASE %s OWNER TO %s", database, user), "%s may not make schemas in the database %s", user, database)
	}
	foreign, err := ForeignSchemas(ctx, pool)
	if err != nil {
		return err
	}
	for _, schema := range foreign {
		good = false
		r.found(SchemaForeign, "schema "+schema, fmt.Sprintf("ALTER SCHEMA %s OWNER TO %s, and its tables too", schema, user), "the schema %s belongs to somebody else", schema)
	}
	tables, err := pg.List(ctx, pool, "ask for the rights in tables", pgx.RowTo[string], `SELECT format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname IN ('control', 'tracker', 'warehouse') AND c.relkind IN ('r', 'p')
			AND NOT (pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.has_table_privilege(c.oid, 'INSERT')
				AND pg_catalog.has_table_privilege(c.oid, 'UPDATE') AND pg_catalog.has_table_privilege(c.oid, 'DELETE')) ORDER BY 1 LIMIT 20`)
	if err != nil {
		return err
	}
	for _, table := range tables {
		good = false
		r.found(RightsMissing, "table "+table, fmt.Sprintf("ALTER TABLE %s OWNER TO %s", table, user), "%s may not read and change %s", user, table)
	}
	if good {
		r.ok("rights", "%s may do in the database %s what is needed", user, database)
	}
	return nil
}

// ForeignSchemas are those of Tributary's in Postgres that somebody else owns.
func ForeignSchemas(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	return pg.List(ctx, pool, "ask whose the schemas are", pgx.RowTo[string], `SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname IN ('control', 'tracker', 'warehouse')
		AND NOT pg_catalog.pg_has_role(nspowner, 'USAGE') ORDER BY 1`)
}

// postgresSettings looks at what of the server's settings loses or refuses something.
func (s *stores) postgresSettings(ctx context.Context, r *report, pool *pgxpool.Pool) error {
	var database, encoding, commit, fsync string
	var recovery, readOnly bool
	var most int32
	err := pool.QueryRow(ctx, `SELECT current_database(), current_setting('server_encoding'), current_setting('synchronous_commit'), current_setting('fsync'),
			pg_catalog.pg_is_in_recovery(), current_setting('default_transaction_read_only')::bool,
			(SELECT min(n) FROM (VALUES (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int), (nullif(d.datconnlimit, -1)), (nullif(u.rolconnlimit, -1))) AS limits (n))
		FROM pg_catalog.pg_database d, pg_catalog.pg_roles u WHERE d.datname = current_database() AND u.rolname = current_user`).
		Scan(&database, &encoding, &commit, &fsync, &recovery, &readOnly, &most)
	if err != nil {
		return fmt.Errorf("ask for the settings: %w", err)
	}
	switch {
	case recovery:
		r.found(ReadOnly, "postgres.url", "connect to the server that this one follows, or promote it", "the server is a standby")
	case readOnly:
		r.found(ReadOnly, "postgres.url", fmt.Sprintf("ALTER DATABASE %s RESET default_transaction_read_only, likewise for the user", database), "transactions in the database %s are read-only", database)
	}
	if encoding != "UTF8" {
		r.found(EncodingWrong, "postgres.url", "make a database with ENCODING 'UTF8' TEMPLATE template0 and name it in postgres.url", "the encoding of the database %s is %s", database, encoding)
	}
	if most < s.Config.Postgres.MaxConnections {
		r.found(ConnectionsFew, "postgres.max_connections", fmt.Sprintf("ALTER DATABASE %s CONNECTION LIMIT -1, likewise for the user, or raise max_connections of the server", database), "%d connections are allowed at once, and each role of a process may open %d", most, s.Config.Postgres.MaxConnections)
	}
	if commit == "off" {
		r.found(NotDurable, "synchronous_commit", fmt.Sprintf("ALTER DATABASE %s RESET synchronous_commit, likewise for the user and the server", database), "synchronous_commit is off")
	}
	if fsync == "off" {
		r.found(NotDurable, "fsync", "ALTER SYSTEM RESET fsync, then SELECT pg_reload_conf()", "fsync is off")
	}
	return nil
}

func (s *stores) postgresClock(ctx context.Context, r *report, pool *pgxpool.Pool) error {
	return s.clock(r, func() (at time.Time, err error) {
		return at, pool.QueryRow(ctx, "SELECT pg_catalog.clock_timestamp()").Scan(&at)
	})
}

// clock compares this machine's clock with another's, which is known but for the time
// that asking takes.
func (d Deps) clock(r *report, ask func() (time.Time, error)) error {
	before := d.Now()
	at, err := ask()
	if err != nil {
		return fmt.Errorf("ask for the time: %w", err)
	}
	after := d.Now()
	var apart time.Duration
	switch {
	case at.Before(before):
		apart = at.Sub(before)
	case at.After(after):
		apart = at.Sub(after)
	}
	if apart.Abs() > maxSkew {
		r.found(ClockDiffers, "clock", "set both by NTP (chronyc tracking says how far a machine is off)", "the server's clock is %s ours by %s", beforeOrAfter(apart), apart.Abs().Round(100*time.Millisecond))
		return nil
	}
	r.ok("clock", "it differs from ours by less than %s", maxSkew)
	return nil
}

func beforeOrAfter(apart time.Duration) string {
	if apart > 0 {
		return "ahead of"
	}
	return "behind"
}

// migrations compares what made the schemas with what this program has.
func migrations(ctx context.Context, r *report, pool *pgxpool.Pool) error {
	for _, schema := range []struct {
		name string
		has  func() ([]int64, error)
	}{{control.Schema, control.Migrations}, {tracker.Schema, tracker.Migrations}, {warehouse.Schema, warehouse.Migrations}} {
		has, err := schema.has()
		if err != nil {
			return err
		}
		had, err := pg.Applied(ctx, pool, schema.name)
		if err != nil {
			return fmt.Errorf("ask for the migrations of %s: %w", schema.name, err)
		}
		r.compareMigrations("schema "+schema.name, has, had)
	}
	return nil
}

// blobs finds out whether the directory for blobs is the one that control knows.
func (s *stores) blobs(ctx context.Context, r *report) {
	const key = "blobs.dir"
	if s.postgresAt == "" {
		r.skip(key, "which blobs there are is asked of Postgres, which can't be reached")
		return
	}
	pool, err := s.pool(ctx)
	if err != nil {
		r.skip(key, "which blobs there are is asked of Postgres, which can't be reached")
		return
	}
	defer pool.Close()
	var known []string
	if _, err = pg.ServerVersion(ctx, pool); err == nil {
		known, err = control.NewestBlobs(ctx, pool)
	}
	if err != nil {
		r.skip(key, "which blobs there are is asked of Postgres, which doesn't say")
		return
	}
	found, err := blob.Holds(s.Config.Blobs.Dir, known)
	switch {
	case err != nil:
		r.failed(key, err)
	case !found:
		r.found(BlobsNotMarked, key, "mount its disk, or correct blobs.dir; if the blobs are really lost: tributary blobs begin", "%s lacks the file %s, and the blobs that control knows", s.Config.Blobs.Dir, blob.Mark)
	default:
		r.ok(key, "%s is the store that control knows", s.Config.Blobs.Dir)
	}
}
