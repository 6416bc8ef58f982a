package doctor_test

import (
	"context"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
)

// member makes a user that may do everything that Tributary does.
func (w *world) member() string {
	w.t.Helper()
	user := enginetest.Name()
	w.exec("CREATE ROLE "+user+" LOGIN", "ALTER DATABASE "+w.database()+" OWNER TO "+user)
	for _, schema := range []string{"control", "tracker", "warehouse"} {
		w.exec("ALTER SCHEMA "+schema+" OWNER TO "+user, "GRANT ALL ON ALL TABLES IN SCHEMA "+schema+" TO "+user)
	}
	w.as(user)
	return user
}

// brokenPostgres are cases of Postgres.
func brokenPostgres() []broken {
	const url = "postgres.url"
	return []broken{
		{"Postgres is away", func(_ *testing.T, w *world) { w.cfg.Postgres.URL = configSecret("postgres://u@" + w.away() + "/d") },
			[]string{"server_unreachable " + url}, "see that the server runs"},
		{"Postgres under a name that is unknown", func(_ *testing.T, w *world) {
			w.cfg.Postgres.URL = configSecret("file:" + w.secret("url", "postgres://u:"+hidden+"@postgres.invalid/d"))
		}, []string{"server_unreachable " + url}, "DNS"},
		{"an address that is none", func(_ *testing.T, w *world) {
			w.cfg.Postgres.URL = configSecret("file:" + w.secret("url", "postgres://u:"+hidden+"@h:port/d"))
		}, []string{"check_failed " + url}, "postgres://user@host:5432/database"},
		{"a user whom Postgres doesn't know", func(_ *testing.T, w *world) { w.as("nobody_there") },
			[]string{"login_refused " + url}, "correct user and password"},
		{"a database that is not there", func(_ *testing.T, w *world) {
			c := w.pool.Config().ConnConfig
			w.cfg.Postgres.URL = configSecret("file:" + w.secret("url", "host="+c.Host+" user="+c.User+" dbname=not_there"))
		}, []string{"database_missing " + url}, "CREATE DATABASE"},
		{"a Postgres that is too old", func(_ *testing.T, w *world) {
			w.cfg.Postgres.URL = configSecret("postgres://u@" + oldPostgres(w.t) + "/d?sslmode=disable&default_query_exec_mode=simple_protocol")
		}, []string{"server_too_old " + url}, "upgrade it"},
		{"a Postgres without TLS", func(_ *testing.T, w *world) {
			w.cfg.Postgres.URL = configSecret("postgres://u@" + plainPostgres(w.t) + "/d?sslmode=require")
		}, []string{"security_mismatch " + url}, "sslmode"},
		{"a user who may make no schema", func(_ *testing.T, w *world) {
			w.member()
			w.exec("ALTER DATABASE " + w.database() + " OWNER TO CURRENT_USER")
		}, []string{"rights_missing " + url}, "ALTER DATABASE"},
		{"a schema of somebody else", func(_ *testing.T, w *world) {
			w.member()
			w.exec("ALTER SCHEMA tracker OWNER TO CURRENT_USER", "GRANT USAGE ON SCHEMA tracker TO PUBLIC")
		}, []string{"schema_foreign schema tracker"}, "ALTER SCHEMA tracker OWNER TO"},
		{"a table that may not be changed", func(_ *testing.T, w *world) { w.exec("REVOKE UPDATE ON control.source FROM " + w.member()) },
			[]string{"rights_missing table control.source"}, "ALTER TABLE control.source OWNER TO"},
		{"a database that takes no changes", func(_ *testing.T, w *world) {
			w.exec("ALTER DATABASE " + w.database() + " SET default_transaction_read_only = on")
		}, []string{"read_only " + url}, "RESET default_transaction_read_only"},
		{"too few connections", func(_ *testing.T, w *world) { w.exec("ALTER DATABASE " + w.database() + " CONNECTION LIMIT 3") },
			[]string{"connections_few postgres.max_connections"}, "CONNECTION LIMIT -1"},
		{"a database that knows bytes only", func(_ *testing.T, w *world) {
			name := enginetest.Name()
			w.exec("CREATE DATABASE "+name+" ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0", "ALTER DATABASE "+name+" SET synchronous_commit = on")
			w.t.Cleanup(func() { _, _ = w.pool.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
			c := w.pool.Config().ConnConfig
			w.cfg.Postgres.URL = configSecret("file:" + w.secret("url", "host="+c.Host+" user="+c.User+" dbname="+name))
		}, []string{"encoding_wrong " + url, "migrations_behind schema control", "migrations_behind schema tracker", "migrations_behind schema warehouse"}, "UTF8"},
		{"commits that are not on disk", func(_ *testing.T, w *world) {
			w.exec("ALTER DATABASE " + w.database() + " SET synchronous_commit = off")
		}, []string{"not_durable synchronous_commit"}, "RESET synchronous_commit"},
		{"a schema that is not there", func(_ *testing.T, w *world) { w.exec("DROP SCHEMA tracker CASCADE") },
			[]string{"migrations_behind schema tracker"}, "start a member"},
		{"a schema of an older program", func(_ *testing.T, w *world) {
			w.exec("DELETE FROM control.schema_version WHERE version_id >= 30")
		}, []string{"migrations_behind schema control"}, "start a member"},
		{"a schema of a newer program", func(_ *testing.T, w *world) {
			w.exec("INSERT INTO warehouse.schema_version (version_id, is_applied) VALUES (999, true)")
		}, []string{"migrations_ahead schema warehouse"}, "upgrade this program"},
		{"a schema that lacks a migration", func(_ *testing.T, w *world) { w.exec("DELETE FROM tracker.schema_version WHERE version_id = 5") },
			[]string{"migrations_skipped schema tracker"}, "restore it from a backup"},
		{"a clock that is behind", func(_ *testing.T, w *world) { w.now = func() time.Time { return time.Now().Add(-time.Minute) } },
			[]string{"clock_differs clock"}, "NTP"},
		{"a clock that is ahead", func(_ *testing.T, w *world) { w.now = func() time.Time { return time.Now().Add(time.Minute) } },
			[]string{"clock_differs clock"}, "NTP"},
	}
}
