package pgdoor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/engine/pgdoor"
	"tributary/test/wait"
)

// Codes that Postgres refuses with.
const (
	noRight  = "42501"
	noMemory = "53200"
	tooLarge = "54000" // beyond what Postgres can hold, before the memory ends
	noRoom   = "53400" // for temporary files
	tooDeep  = "54001"
	ended    = "57P01"
	nothing  = "00000" // it is run, and changes nothing
)

// lifted is what a hostile reader begins with: all bounds that a session may lift
// for itself.
const lifted = `SET default_transaction_read_only = off; SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0;
	SET work_mem = '2147483647kB'; SET hash_mem_multiplier = 1000; SET max_parallel_workers_per_gather = 64; SET jit = on; SET jit_above_cost = 0`

// attempt is a statement and what it may end with.
type attempt struct{ sql, want string }

func of(want string, statements ...string) (out []attempt) {
	for _, s := range statements {
		out = append(out, attempt{s, want})
	}
	return out
}

// writing are ways to write. Read-only is a setting that a session may lift, so
// each is refused by the role's rights.
func writing() []attempt {
	all := of(noRight,
		"INSERT INTO tracker.t VALUES (9)", "UPDATE tracker.t SET n = 9", "DELETE FROM tracker.t", "TRUNCATE tracker.t", "COPY tracker.t FROM STDIN",
		"MERGE INTO tracker.t USING (SELECT 1 AS m) s ON n = m WHEN MATCHED THEN DELETE", "UPDATE tracker.v SET n = 2", "INSERT INTO warehouse.w VALUES (1)",
		"WITH d AS (DELETE FROM tracker.t RETURNING 1) SELECT * FROM d", "EXPLAIN ANALYZE DELETE FROM tracker.t", "SELECT tracker.writes()",
		"SELECT n FROM tracker.t FOR UPDATE", "SELECT n FROM tracker.t FOR KEY SHARE", "SELECT * INTO x FROM tracker.t", "SELECT * INTO TEMP x FROM tracker.t",
		"PREPARE p AS INSERT INTO tracker.t VALUES (9); EXECUTE p", "BEGIN; DECLARE c CURSOR FOR SELECT n FROM tracker.t FOR UPDATE",
		"BEGIN READ WRITE; DELETE FROM tracker.t", "SET TRANSACTION READ WRITE; DELETE FROM tracker.t", "SELECT nextval('tracker.s')", "SELECT setval('tracker.s', 9)",
		"SELECT query_to_xml('SELECT nextval(''tracker.s'')', true, true, '')",
		"CREATE TABLE x (n int)", "CREATE TABLE public.x (n int)", "CREATE TABLE tracker.x (n int)", "CREATE TABLE warehouse.x AS SELECT 1", "CREATE TEMP TABLE x (n int)",
		"CREATE TEMP VIEW x AS SELECT 1", "CREATE TEMP SEQUENCE x", "CREATE VIEW tracker.x AS SELECT 1", "CREATE MATERIALIZED VIEW tracker.x AS SELECT 1",
		"CREATE INDEX ON tracker.t (n)", "CREATE SEQUENCE tracker.x", "CREATE SCHEMA x", "CREATE DATABASE x", "CREATE ROLE x", "CREATE USER x SUPERUSER",
		"CREATE FUNCTION public.x() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE FUNCTION pg_temp.x() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE PROCEDURE tracker.x() LANGUAGE sql AS 'SELECT 1'", "DO 'BEGIN DELETE FROM tracker.t; END'", "DO 'BEGIN LOOP PERFORM 1; END LOOP; END'",
		"CREATE TRIGGER x BEFORE INSERT ON tracker.t EXECUTE FUNCTION suppress_redundant_updates_trigger()", "CREATE RULE x AS ON INSERT TO tracker.t DO NOTHING",
		"CREATE TYPE tracker.x AS (n int)", "CREATE DOMAIN tracker.x AS int", "CREATE STATISTICS tracker.x ON n, n FROM tracker.t",
		"CREATE PUBLICATION x", "CREATE LANGUAGE x HANDLER plpgsql_call_handler", "CREATE TABLESPACE x LOCATION '/tmp'", "CREATE FOREIGN DATA WRAPPER x",
		"CREATE CAST (int AS point) WITHOUT FUNCTION", "CREATE ACCESS METHOD x TYPE TABLE HANDLER heap_tableam_handler",
		"DROP TABLE tracker.t", "DROP SCHEMA tracker CASCADE", "DROP VIEW tracker.v", "DROP FUNCTION tracker.writes()", "DROP ROLE tributary_reader", "DROP DATABASE postgres",
		"DROP OWNED BY tributary", "REASSIGN OWNED BY tributary TO reader", "COMMENT ON TABLE tracker.t IS 'x'", "COMMENT ON DATABASE postgres IS 'x'", "REINDEX TABLE tracker.t", "CLUSTER tracker.t USING x",
		"REFRESH MATERIALIZED VIEW tracker.m", "CHECKPOINT", "BEGIN; LOCK TABLE tracker.t IN ACCESS EXCLUSIVE MODE", "BEGIN; LOCK TABLE tracker.t IN SHARE MODE",
		// What a role may do to itself, and what only its own rights would bound.
		"ALTER ROLE reader SUPERUSER", "ALTER ROLE reader PASSWORD 'x'", "ALTER USER CURRENT_USER SET statement_timeout = 1", "SET ROLE tributary_reader; ALTER ROLE tributary_reader SET work_mem = '1GB'",
		"ALTER TABLE tracker.t ADD m int", "ALTER SYSTEM SET work_mem = '1GB'", "ALTER DATABASE postgres SET work_mem = '1GB'", "/* x */ ALTER ROLE reader RESET ALL", "-- x\nALTER ROLE reader RESET ALL",
		"GRANT ALL ON tracker.t TO PUBLIC", "GRANT reader TO pg_monitor", "REVOKE SELECT ON tracker.t FROM reader", "SELECT 1; GRANT tributary TO reader",
		"SET ROLE tributary", "SET SESSION AUTHORIZATION tributary", "SELECT set_config('role', 'tributary', false)", "SET ROLE pg_monitor",
	)
	all = append(all, of(nothing, "VACUUM tracker.t", "ANALYZE tracker.t")...) // it warns, and passes over what is not its own
	return append(all, attempt{"SELECT query_to_xml('DELETE FROM tracker.t', true, true, '')", "0A000"},
		attempt{"CREATE EXTENSION dblink", noRight + " 0A000 58P01"}, attempt{"CALL tracker.x()", "42883"}, attempt{"PREPARE TRANSACTION 'x'", nothing + " 25P01 55000"},
		attempt{"CREATE EVENT TRIGGER x ON ddl_command_start EXECUTE FUNCTION tracker.writes()", noRight}, attempt{"SECURITY LABEL ON TABLE tracker.t IS 'x'", "22023"},
		attempt{"CREATE SUBSCRIPTION x CONNECTION 'host=/tmp' PUBLICATION x WITH (connect = false)", noRight}, attempt{"IMPORT FOREIGN SCHEMA x FROM SERVER y INTO tracker", "42704"})
}

// looking are ways to read what is nobody's to read, at what the machine has, and
// at secrets.
func looking(file string) []attempt {
	all := of(noRight,
		"SELECT n FROM control.secret", "TABLE control.secret", "COPY control.secret TO STDOUT", "SELECT query_to_xml('SELECT * FROM control.secret', true, true, '')",
		"SELECT table_to_xml('control.secret', true, true, '')", "SELECT * FROM ts_stat('SELECT to_tsvector(n::text) FROM control.secret')",
		"SELECT rolpassword FROM pg_authid", "SELECT * FROM pg_shadow", "SELECT * FROM pg_statistic", "SELECT * FROM pg_largeobject", "SELECT subconninfo FROM pg_subscription",
		"SELECT * FROM pg_hba_file_rules", "SELECT * FROM pg_file_settings", "SELECT * FROM pg_config", "SELECT * FROM pg_backend_memory_contexts", "SELECT * FROM pg_shmem_allocations",
		"SELECT pg_read_file('/etc/passwd')", "SELECT pg_read_file('"+file+"', 0, 10, true)", "SELECT pg_read_binary_file('/etc/passwd')", "SELECT pg_ls_dir('/')", "SELECT pg_ls_dir('.')",
		"SELECT pg_stat_file('/etc/passwd')", "SELECT pg_ls_logdir()", "SELECT pg_ls_waldir()", "SELECT pg_ls_tmpdir()", "SELECT pg_ls_archive_statusdir()", "SELECT pg_current_logfile()",
		"SELECT lo_import('/etc/passwd')", "SELECT lo_export(1, '"+file+"')", "COPY tracker.t FROM '/etc/passwd'", "COPY tracker.t TO '"+file+"'", "COPY (SELECT 1) TO '"+file+"'",
		"COPY tracker.t FROM PROGRAM 'id'", "COPY (SELECT 1) TO PROGRAM 'touch "+file+"'", "LOAD 'auto_explain'", "LOAD '/tmp/x.so'",
		"SHOW data_directory", "SHOW config_file", "SHOW hba_file", "SHOW unix_socket_directories", "SELECT current_setting('data_directory')", "SELECT query_to_xml('SELECT pg_ls_dir(''/'')', true, true, '')",
	)
	return append(all,
		attempt{"SELECT * FROM dblink('host=/tmp', 'SELECT 1') AS x (n int)", "42883"},
		attempt{"SELECT xmlparse(DOCUMENT '<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><x>&e;</x>')::text ~ 'root'", nothing + " 2200M 0A000"})
}

// reaching are ways to reach what others do: locks by number, signals, records of
// the log of changes, snapshots, other sessions, settings of all.
func reaching() []attempt {
	return append(of(noRight,
		"SELECT pg_advisory_lock(42)", "SELECT pg_advisory_lock_shared(1, 2)", "SELECT pg_advisory_xact_lock(42)", "SELECT pg_try_advisory_lock(42)", "SELECT pg_try_advisory_xact_lock_shared(42)",
		"SELECT pg_advisory_unlock_all()", "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000))", "SELECT pg_export_snapshot()", "SELECT pg_notify('control_outbox', 'x')",
		"NOTIFY control_outbox", "NOTIFY control_outbox, 'x'", "LISTEN control_outbox", "  notify x", "SELECT 1; NOTIFY x", "SELECT 1;\n\tListen x", "/* a /* b */ */ NOTIFY x", "-- a\nNOTIFY x", "BEGIN; NOTIFY x; COMMIT",
		"SELECT lo_creat(-1)", "SELECT lo_create(77)", "SELECT lo_from_bytea(77, 'x')", "SELECT lo_put(77, 0, 'x')", "SELECT lo_unlink(77)", "SELECT lo_open(77, 131072)", "SELECT lowrite(0, 'x')",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity", "SELECT txid_current()", "SELECT pg_current_xact_id()",
		"SELECT pg_reload_conf()", "SELECT pg_rotate_logfile()", "SELECT pg_promote()", "SELECT pg_switch_wal()", "SELECT pg_create_restore_point('x')", "SELECT pg_stat_reset()",
		"SELECT pg_stat_reset_shared('bgwriter')", "SELECT pg_log_backend_memory_contexts(pg_backend_pid())", "SELECT pg_create_physical_replication_slot('x')",
		"SELECT pg_replication_origin_create('x')", "SELECT pg_import_system_collations('tracker')",
		"SET session_replication_role = replica", "SET log_statement = 'all'", "SET log_min_messages = debug5", "SET temp_file_limit = -1", "SELECT set_config('temp_file_limit', '-1', false)",
		"SET max_stack_depth = '100MB'", "SET session_preload_libraries = 'x'", "SET zero_damaged_pages = on", "SET track_activities = off", "SET allow_system_table_mods = on",
	), attempt{"SET max_connections = 1", "55P02"}, attempt{"SET local_preload_libraries = 'x'", nothing})
}

// exhausting are ways to use up memory. The bound is the kernel's, as a session
// may change all of Postgres' own.
func exhausting() []attempt {
	const notParsed = "42601" // as the parser's stack is bounded
	return of(noMemory+" "+tooLarge+" "+tooDeep+" "+notParsed,
		"SELECT length(repeat('x', 1000000000))", "SELECT length(repeat('x', 2000000000))", "SELECT length(lpad('x', 900000000))", "SELECT count(*) FROM generate_series(1, 1000000000)",
		"SELECT length(string_agg(repeat('x', 1000), '')) FROM generate_series(1, 100000000)", "SELECT array_agg(repeat('x', 1000) || g) FROM generate_series(1, 10000000) g",
		"SELECT json_agg(repeat('x', 10000)) FROM generate_series(1, 1000000)", "SELECT array_fill(0, ARRAY[130000000])", "SELECT count(*) FROM (SELECT DISTINCT repeat('x', 900) || g FROM generate_series(1, 50000000) g) x",
		"SELECT string_to_array(repeat('x,', 100000000), ',')", "SELECT jsonb_agg(repeat('x', 10000)) FROM generate_series(1, 1000000)",
		"DECLARE c CURSOR WITH HOLD FOR SELECT repeat('x', 1000) FROM generate_series(1, 100000000)", "SELECT "+strings.Repeat("(", 200000)+"1"+strings.Repeat(")", 200000),
		"SELECT "+strings.Repeat("-", 1)+strings.Repeat("(-", 100000)+"1"+strings.Repeat(")", 100000), "SELECT repeat('[', 100000)::jsonb", "WITH RECURSIVE r AS (SELECT 'x' AS x UNION ALL SELECT x || x FROM r) SELECT max(length(x)) FROM r",
		"SELECT a.g FROM generate_series(1, 30000000) a (g) JOIN generate_series(1, 30000000) b (g) ON a.g = b.g ORDER BY 1",
	)
}

// A reader who tries all that Postgres knows writes nothing, reads no file and no
// secret, reaches nobody, and gets no more memory than a session may have.
func TestAReaderOnlyReads(t *testing.T) {
	w := setUp(t)
	file := filepath.Join(t.TempDir(), "out")
	attempts := append(append(append(writing(), looking(file)...), reaching()...), exhausting()...)
	if len(attempts) < 150 {
		t.Errorf("only %d attempts", len(attempts))
	}
	before := w.value("SELECT pid::text FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
	conn := w.connect()
	for _, a := range attempts {
		for _, sql := range []string{"ROLLBACK", "DISCARD ALL", lifted} {
			if err := exec(conn, sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		_, err := conn.Exec(t.Context(), a.sql).ReadAll()
		if code := sqlState(err); !strings.Contains(a.want, code) {
			t.Errorf("%.100s: %s (%v), want %s", a.sql, code, err, a.want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%.100s: a file was written", a.sql)
		}
	}
	if pid := w.value("SELECT pid::text FROM pg_stat_activity WHERE backend_type = 'checkpointer'"); pid != before {
		t.Error("Postgres was restarted meanwhile")
	}
	for sql, want := range map[string]string{
		"SELECT sum(n)::text FROM tracker.t": "1", "SELECT count(*)::text FROM warehouse.w": "0", "SELECT count(*)::text FROM pg_largeobject_metadata": "0", "SELECT last_value::text FROM tracker.s": "1",
		"SELECT count(*)::text FROM pg_class WHERE relname = 'x'": "0", "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory'": "0",
		"SELECT array_to_string(rolconfig, ' ') FROM pg_roles WHERE rolname = 'reader'": "temp_file_limit=1GB default_transaction_read_only=on statement_timeout=5min idle_in_transaction_session_timeout=1min lock_timeout=10s work_mem=32MB max_parallel_workers_per_gather=0",
	} {
		if got := w.value(sql); got != want {
			t.Errorf("afterwards %s: %s, want %s", sql, got, want)
		}
	}
	if got := texts(t, w.connect(), "SELECT n, (SELECT count(*) FROM warehouse.w), (SELECT string_agg(query, '') FROM pg_stat_activity WHERE usename <> 'reader') FROM tracker.v"); got != "1 0 <insufficient privilege>" && !strings.HasPrefix(got, "1 0 <insufficient") {
		t.Errorf("what a reader reads: %s", got)
	}
}

// What takes long, holds what others wait for, or stays open, is ended, whatever
// the session has set.
func TestAReaderStandsInNobodysWay(t *testing.T) {
	wait.Longer(t, 100*time.Millisecond, func(few time.Duration) error { return standsInNobodysWay(t, few) })
}

// standsInNobodysWay has readers try, who may take a few times as long as given, and so
// have that long to begin.
func standsInNobodysWay(t *testing.T, few time.Duration) error {
	t.Helper()
	w, o := options(t)
	o.Limit(pgdoor.LoginTime, 5*few, 4*few, 3*few)
	w.open(o)
	for _, sql := range []string{
		"SELECT count(*) FROM (SELECT FROM pg_class a, pg_class b, pg_class c, pg_class d, pg_class e) x",
		"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n % 1000 + 1 FROM r) SELECT count(*) FROM r", "SELECT sum(g) FROM generate_series(1, 1000000000000) g, pg_class",
		"BEGIN; SELECT n FROM tracker.t; SELECT pg_sleep(1000000)", "COPY (SELECT pg_sleep(0.01) FROM pg_class a, pg_class b) TO STDOUT",
		"SELECT regexp_count(repeat('a', 30) || 'b', '(a*)*(a*)*c'), pg_sleep(1000000)",
	} {
		conn := w.connect()
		_, err := conn.Exec(t.Context(), lifted+"; SET work_mem = '64kB'; "+sql).ReadAll()
		if code := sqlState(err); code != ended && code != noRoom {
			return fmt.Errorf("%s: %s (%w)", sql, code, err)
		}
	}
	// One that is idle, and one that somebody waits for.
	for _, sql := range []string{lifted + "; BEGIN", lifted + "; BEGIN; LOCK TABLE tracker.t IN ACCESS SHARE MODE"} {
		conn := w.connect()
		if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
			return err
		}
		w.must("BEGIN; LOCK TABLE tracker.t IN ACCESS EXCLUSIVE MODE; COMMIT")
		w.await(sql, func() bool { return sqlState(exec(conn, "SELECT 1")) != nothing })
	}
	w.await("no session is left", func() bool {
		return w.value("SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'reader'") == "0"
	})
	return nil
}

// Whoever goes away leaves no work behind.
func TestWhoeverGoesLeavesNothing(t *testing.T) {
	w := setUp(t)
	conn := w.connect()
	begun := make(chan error, 1)
	go func() {
		begun <- exec(conn, "SELECT count(*) FROM (SELECT FROM pg_class a, pg_class b, pg_class c, pg_class d, pg_class e) x")
	}()
	w.await("it works", func() bool {
		return w.value("SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'") == "1"
	})
	_ = conn.Conn().Close()
	<-begun
	w.await("it stops", func() bool {
		return w.value("SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'reader'") == "0"
	})
}

// Temporary files are bounded, and not by what a session says. That many bytes
// would take long to write, so the role has fewer once it is known what it has.
func TestTemporaryFilesAreBounded(t *testing.T) {
	w := setUp(t)
	if got := texts(t, w.connect(), "SHOW temp_file_limit"); got != "1GB" {
		t.Errorf("the limit is %s", got)
	}
	w.must("ALTER ROLE reader SET temp_file_limit = '20MB'")
	for _, sql := range []string{
		"SELECT count(*) FROM (SELECT repeat('x', 8000) FROM generate_series(1, 1000000) OFFSET 0) x, generate_series(1, 300000000) LIMIT 1",
		"SELECT g FROM generate_series(1, 3000000) g ORDER BY g % 1000",
	} {
		err := exec(w.connect(), lifted+"; SET work_mem = '64kB'; "+sql)
		if code := sqlState(err); code != noRoom {
			t.Errorf("%s: %s (%v)", sql, code, err)
		}
	}
}

func exec(conn *pgconn.PgConn, sql string) error {
	_, err := conn.Exec(context.Background(), sql).ReadAll()
	return err
}

// sqlState is the code that Postgres, or the door, ended a statement with.
func sqlState(err error) string {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return nothing
	case errors.As(err, &e):
		return e.Code
	}
	return "no code"
}

// texts are the values of a statement's first row.
func texts(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return ""
	}
	var out []string
	for _, row := range results[len(results)-1].Rows[0] {
		out = append(out, string(row))
	}
	return strings.Join(out, " ")
}
