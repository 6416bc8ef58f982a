package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
)

// ask runs a statement as it is, without the look at its first word.
func ask(ctx context.Context, s Store, sql string) (string, error) {
	var b strings.Builder
	err := s.query(ctx, sql, func([]arrow.Field) error { return nil }, func(cells []cell) error {
		for _, c := range cells {
			b.WriteString(c.text + "|")
		}
		return nil
	})
	return b.String(), err
}

func hostilePostgres(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA control; CREATE TABLE control.secret (n int); CREATE SCHEMA tracker; CREATE TABLE tracker.t (n int); INSERT INTO tracker.t VALUES (1); CREATE SEQUENCE tracker.s;
		CREATE FUNCTION tracker.writes() RETURNS int LANGUAGE sql AS 'INSERT INTO tracker.t VALUES (2) RETURNING n';
		CREATE FUNCTION tracker.raises() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'INSERT INTO tracker.t VALUES (3) RETURNING n'`); err != nil {
		t.Fatal(err)
	}
	return pool
}

// Whatever a statement says, Postgres itself keeps it from writing, from
// becoming another role, and from the server's files.
func TestPostgresKeepsStatementsFromWriting(t *testing.T) {
	pool := hostilePostgres(t)
	store := Postgres{Pool: pool, Schema: "tracker", Timeout: time.Minute}
	if got, err := ask(t.Context(), store, "SELECT n, current_user, session_user, current_setting('transaction_read_only') FROM t"); err != nil || got != "1|tributary_reader|tributary_reader|on|" {
		t.Fatalf("a statement that reads: %q, %v", got, err)
	}
	file := filepath.Join(t.TempDir(), "out")
	const reads, one = "only reads", "one statement at a time"
	for sql, want := range map[string]string{
		"INSERT INTO t VALUES (9)":      reads,
		"UPDATE t SET n = 9":            reads,
		"DELETE FROM t":                 reads,
		"TRUNCATE t":                    reads,
		"DROP TABLE t":                  reads,
		"CREATE TABLE public.x (n int)": reads,
		"CREATE TEMP TABLE x (n int)":   reads,
		"WITH d AS (DELETE FROM t RETURNING 1) SELECT * FROM d":         reads,
		"EXPLAIN ANALYZE DELETE FROM t":                                 reads,
		"SELECT n FROM t FOR UPDATE":                                    reads,
		"SELECT * INTO x FROM t":                                        reads,
		"SELECT nextval('s')":                                           reads,
		"SELECT setval('s', 9)":                                         reads,
		"SELECT writes()":                                               reads,
		"SELECT raises()":                                               reads,
		"SELECT query_to_xml('DELETE FROM tracker.t', true, true, '')":  "",
		"SELECT 1; DROP TABLE t":                                        one,
		"SELECT 1; COMMIT; DROP TABLE t":                                one,
		"RESET ROLE; DELETE FROM t":                                     one,
		"COMMIT; DELETE FROM t":                                         one,
		"SELECT set_config('role', 'tributary', false)":                 reads,
		"SELECT set_config('session_authorization', 'tributary', true)": reads,
		"SET ROLE tributary":                                            reads,
		"SET SESSION AUTHORIZATION tributary":                           reads,
		"SELECT set_config('transaction_read_only', 'off', false)":      "before any query",
		"SET TRANSACTION READ WRITE":                                    "before any query",
		"SELECT set_config('role', 'none', true), query_to_xml('SELECT pg_read_file(''/etc/passwd'')', true, true, '')": reads,
		"SELECT set_config('role', 'none', true), query_to_xml('SELECT pg_ls_dir(''/'')', true, true, '')":              reads,
		"SELECT pg_read_file('/etc/passwd')":                     reads,
		"SELECT pg_read_binary_file('/etc/passwd')":              reads,
		"SELECT pg_ls_dir('/')":                                  reads,
		"SELECT pg_stat_file('/etc/passwd')":                     reads,
		"SELECT lo_import('/etc/passwd')":                        reads,
		"SELECT lo_export(1, '" + file + "')":                    reads,
		"COPY t TO PROGRAM 'touch " + file + "'":                 reads,
		"COPY t TO '" + file + "'":                               reads,
		"COPY t FROM PROGRAM 'echo 7'":                           reads,
		"SELECT pg_reload_conf()":                                reads,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity": reads,
		"SELECT n FROM control.secret":                           reads,
		"SELECT rolpassword FROM pg_authid":                      reads,
		"ALTER DATABASE template1 SET work_mem = '1GB'":          reads,
		"ALTER ROLE tributary_reader SUPERUSER":                  reads,
		"GRANT ALL ON t TO tributary_reader":                     reads,
		"CREATE EXTENSION dblink":                                reads,
		"LOAD 'auto_explain'":                                    "",
		"DO $$ BEGIN DELETE FROM tracker.t; END $$":              reads,
		"CALL nothing()":                                         "",
		"LOCK TABLE t IN ACCESS EXCLUSIVE MODE":                  reads,
		"VACUUM t":                                               "",
		"SELECT set_config('temp_file_limit', '-1', false)":      reads,
		"SELECT pg_sleep(60)":                                    "took too long",
		// What others feel, though nothing is written.
		"SELECT pg_advisory_lock(42)":                                            reads,
		"SELECT pg_advisory_xact_lock_shared(1, 2)":                              reads,
		"SELECT pg_try_advisory_lock(42)":                                        reads,
		"SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000))":          reads,
		"SELECT pg_logical_emit_message(true, 'x', 'x'::bytea)":                  reads,
		"SELECT pg_export_snapshot()":                                            reads,
		"SELECT pg_notify('c', 'x')":                                             reads,
		"SELECT lo_from_bytea(77, 'x')":                                          reads,
		"SELECT lo_creat(-1)":                                                    reads,
		"SELECT pg_terminate_backend(pg_backend_pid())":                          reads,
		"SELECT pg_cancel_backend(pg_backend_pid())":                             reads,
		"SELECT query_to_xml('SELECT pg_advisory_lock(42)', true, true, '')":     reads,
		"SELECT n FROM t WHERE pg_logical_emit_message(false, 'a', 'b') IS NULL": reads,
	} {
		out, err := ask(t.Context(), store, sql)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", sql, out, err, want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s: a file was written", sql)
		}
	}
	// These are allowed, and must have left nothing.
	for _, sql := range []string{"SELECT set_config('statement_timeout', '0', false)",
		"SELECT set_config('search_path', 'x', false)", "DISCARD ALL", "SELECT set_config('role', 'none', false)"} {
		_, err := ask(t.Context(), store, sql)
		t.Logf("%s: %v", sql, err)
	}
	var rows, objects, free, tables int
	if err := pool.QueryRow(t.Context(), `SELECT (SELECT sum(n) FROM tracker.t), (SELECT count(*) FROM pg_largeobject_metadata WHERE oid = 77), pg_try_advisory_xact_lock(42)::int,
		(SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname IN ('tracker', 'public'))`).Scan(&rows, &objects, &free, &tables); err != nil {
		t.Fatal(err)
	}
	if rows != 1 || objects != 0 || free != 1 || tables != 2 {
		t.Errorf("afterwards: rows %d, large objects %d, lock free %d, tables %d; want 1, 0, 1, 2", rows, objects, free, tables)
	}
	if _, err := pool.Exec(t.Context(), "SELECT nextval('tracker.s')"); err != nil {
		t.Errorf("the owner can't write any more: %v", err)
	}
}

// The reader's sessions are limited from their first moment, also where the role
// was made by an older program; and where the server is not ours, nothing is taken
// away from others.
func TestTheReadersLimits(t *testing.T) {
	pool := hostilePostgres(t)
	store := Postgres{Pool: pool, Schema: "tracker", Timeout: time.Minute}
	if _, err := ask(t.Context(), store, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "ALTER ROLE tributary_reader RESET ALL"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is set anew counts for who comes next
		if _, err := ask(t.Context(), store, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := store.connectReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var statement, idle, lock, only string
	if err := conn.QueryRow(t.Context(), `SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout'),
		current_setting('default_transaction_read_only')`).Scan(&statement, &idle, &lock, &only); err != nil {
		t.Fatal(err)
	}
	if statement != "20min" || idle != "1min" || lock != "10s" || only != "on" {
		t.Errorf("a session begins with %s, %s, %s, read-only %s", statement, idle, lock, only)
	}
	if _, err := pool.Exec(t.Context(), "SELECT pg_advisory_xact_lock(42), pg_notify('c', 'x'), pg_logical_emit_message(false, 'a', 'b')"); err != nil {
		t.Errorf("the owner may not any more: %v", err)
	}
}

// A reader that was made mightier is not used.
func TestAMightyReaderIsRefused(t *testing.T) {
	pool := hostilePostgres(t)
	store := Postgres{Pool: pool, Schema: "tracker"}
	if _, err := ask(t.Context(), store, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "ALTER ROLE tributary_reader CREATEDB"); err != nil {
		t.Fatal(err)
	}
	_, err := ask(t.Context(), store, "SELECT 1")
	if _, rerr := pool.Exec(t.Context(), "ALTER ROLE tributary_reader NOCREATEDB"); rerr != nil {
		t.Fatal(rerr)
	}
	if err == nil || !strings.Contains(err.Error(), "may more than read") {
		t.Errorf("got %v", err)
	}
}

// The schemas of others are not the reader's, whatever they are called, and not
// in its way.
func TestTheReaderSeesNoForeignSchemas(t *testing.T) {
	pool := hostilePostgres(t)
	name := enginetest.Name()
	for _, s := range []string{
		"CREATE ROLE " + name + " LOGIN", "CREATE SCHEMA warehouse", "CREATE TABLE warehouse.t (n int)", "CREATE SCHEMA tracker_rebuild", "CREATE TABLE tracker_rebuild.t (n int)",
		"CREATE SCHEMA warehouse_private AUTHORIZATION " + name, "CREATE TABLE warehouse_private.t (n int)", "ALTER TABLE warehouse_private.t OWNER TO " + name,
	} {
		if _, err := pool.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP OWNED BY "+name+"; DROP ROLE "+name); err != nil {
			t.Error(err)
		}
	})
	for schema, want := range map[string]bool{"tracker": true, "warehouse": true, "tracker_rebuild": false, "warehouse_private": false, "control": false} {
		table := schema + ".t"
		if schema == "control" {
			table = "control.secret"
		}
		if _, err := ask(t.Context(), Postgres{Pool: pool, Schema: "tracker"}, "SELECT count(*) FROM "+table); (err == nil) != want {
			t.Errorf("%s: %v", table, err)
		}
	}
}

// Where nobody may connect as the reader, a superuser's connection is not used
// in its place, and another role's only for reading.
func TestWithoutAReader(t *testing.T) {
	pool := hostilePostgres(t)
	store := Postgres{Pool: pool, Schema: "tracker"}
	other := func(role string) Postgres {
		cfg := pool.Config()
		cfg.ConnConfig.User = role
		p, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return Postgres{Pool: p, Schema: "tracker"}
	}
	name := enginetest.Name()
	for _, s := range []string{"CREATE ROLE " + name + " LOGIN", "GRANT ALL ON SCHEMA tracker TO " + name, "GRANT ALL ON ALL TABLES IN SCHEMA tracker TO " + name} {
		if _, err := pool.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP OWNED BY "+name+"; DROP ROLE "+name); err != nil {
			t.Error(err)
		}
	})
	asked := func(p Postgres, sql string) (out string, err error) {
		p.Timeout = time.Minute
		err = p.readOnPool(t.Context(), errNoReader, func(ctx context.Context, tx pgx.Tx) error {
			return p.rows(ctx, tx, sql, func([]arrow.Field) error { return nil }, func(cells []cell) error { out += cells[0].text; return nil })
		})
		return out, err
	}
	if _, err := asked(store, "SELECT n FROM t"); err == nil || !strings.Contains(err.Error(), "superuser") {
		t.Errorf("as a superuser: %v", err)
	}
	plain := other(name)
	if got, err := asked(plain, "SELECT n FROM t"); err != nil || got != "1" {
		t.Errorf("as another role: %q, %v", got, err)
	}
	if _, err := asked(plain, "DELETE FROM t"); err == nil {
		t.Error("another role wrote")
	}
	if got, err := asked(plain, "SELECT count(*) FROM t"); err != nil || got != "1" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

// The same for ClickHouse, which also may not be made to read files or to ask
// other servers.
func TestClickHouseKeepsStatementsFromWriting(t *testing.T) {
	tr := newTrap(t)
	conn, called, at, secret := tr.conn, tr.called, tr.at, tr.secret
	file := filepath.Join(t.TempDir(), "out")
	store := ClickHouse{Conn: conn, Timeout: time.Minute, MaxMemory: 100 << 20}
	if got, err := ask(t.Context(), store, "SELECT n, getSetting('readonly') FROM t"); err != nil || got != "1|1|" {
		t.Fatalf("a statement that reads: %q, %v", got, err)
	}
	const reads, one = "only reads", "one statement at a time"
	for sql, want := range map[string]string{
		"INSERT INTO t VALUES (9)": reads,
		"INSERT INTO t SELECT 9":   reads,
		"INSERT INTO FUNCTION file('" + file + "', 'CSV', 'n UInt8') SELECT 1": "",
		"ALTER TABLE t DELETE WHERE 1":                                         reads,
		"ALTER TABLE t UPDATE n = 2 WHERE 1":                                   "",
		"DELETE FROM t WHERE 1":                                                reads,
		"DROP TABLE t":                                                         reads,
		"TRUNCATE TABLE t":                                                     reads,
		"RENAME TABLE t TO u":                                                  reads,
		"EXCHANGE TABLES t AND t":                                              reads,
		"CREATE TABLE u (n UInt8) ENGINE = Memory":                             reads,
		"CREATE TEMPORARY TABLE u (n UInt8)":                                   reads,
		"CREATE FUNCTION f AS x -> x":                                          reads,
		"CREATE USER u":                                                        "",
		"GRANT ALL ON *.* TO default":                                          "",
		"OPTIMIZE TABLE t FINAL":                                               reads,
		"DETACH TABLE t":                                                       reads,
		"SYSTEM STOP MERGES":                                                   reads,
		"SYSTEM SHUTDOWN":                                                      "",
		"KILL QUERY WHERE 1":                                                   reads,
		"SET readonly = 0":                                                     reads,
		"SET max_memory_usage = 0":                                             reads,
		"SELECT 1 SETTINGS readonly = 0":                                       reads,
		"SELECT 1 SETTINGS max_execution_time = 0":                             reads,
		"SELECT 1; DROP TABLE t":                                               one,
		"SELECT * FROM file('" + secret + "', 'CSV', 'a String, n UInt8')":                          reads,
		"DESCRIBE TABLE file('" + secret + "')":                                                     reads,
		"EXPLAIN SELECT * FROM file('" + secret + "', 'CSV', 'a String, n UInt8')":                  reads,
		"SELECT * FROM `" + secret + "`":                                                            "",
		"SELECT file('" + secret + "')":                                                             "",
		"SELECT * FROM url('http://" + at + "/', 'CSV', 'a String')":                                reads,
		"DESCRIBE TABLE url('http://" + at + "/')":                                                  "",
		"SELECT * FROM s3('http://" + at + "/bucket/x.csv', 'CSV', 'a String')":                     reads,
		"SELECT * FROM remote('" + at + "', system.one)":                                            reads,
		"SELECT * FROM remote('" + at + "', 'system', 'one')":                                       reads,
		"SELECT * FROM postgresql('" + at + "', 'd', 't', 'u', 'p')":                                reads,
		"SELECT * FROM mysql('" + at + "', 'd', 't', 'u', 'p')":                                     reads,
		"SELECT * FROM sqlite('" + secret + "', 't')":                                               reads,
		"SELECT * FROM executable('touch', 'CSV', 'a String')":                                      reads,
		"SELECT 1 INTO OUTFILE '" + file + "'":                                                      "",
		"SELECT count() FROM t WHERE n IN (SELECT n FROM file('" + secret + "', 'CSV', 'n UInt8'))": reads,
		"SELECT 1 WHERE 1 IN url('http://" + at + "/', 'CSV', 'a String')":                          reads,
		"EXPLAIN TABLE OVERRIDE mysql('" + at + "', 'd', 't', 'u', 'p') PARTITION BY n":             reads,
		"EXPLAIN AST SELECT file('" + secret + "')":                                                 reads,
		"SELECT groupArray(toString(number)) FROM numbers(100000000)":                               "too much memory",
		// Functions of which the syntax tree shows nothing, or but a name.
		"SELECT * APPLY(file) FROM (SELECT '" + secret + "')":                                                                                       reads,
		"SELECT * APPLY(x -> file(x)) FROM (SELECT '" + secret + "')":                                                                               reads,
		"SELECT COLUMNS('x') APPLY file FROM (SELECT '" + secret + "' AS x)":                                                                        reads,
		"SELECT * FROM view(SELECT * APPLY(file) FROM (SELECT '" + secret + "'))":                                                                   reads,
		"SELECT arrayMap(file, ['" + secret + "'])":                                                                                                 reads,
		"SELECT arrayMap((file), ['" + secret + "'])":                                                                                               reads,
		"SELECT arrayMap(`file` AS f, ['" + secret + "'])":                                                                                          reads,
		"SELECT arrayMap(file, ['" + secret + "']) AS `x\nFunction f (children 1)`":                                                                 reads,
		"SELECT arrayMap(file, ['" + secret + "']) AS `x\n        Function f (children 1)\n       Function f (children 1)\n        ExpressionList`": reads,
		"SELECT arrayMap(file, ['" + secret + "']) AS “x\n       Function f (children 1)”":                                                          reads,
		"SELECT arrayMap(file, arrayMap(x -> x, ['" + secret + "']))":                                                                               reads,
		"SELECT arrayMap(x -> x, [1]), arrayConcat(arrayMap(file, ['" + secret + "']), ['a'])":                                                      reads,
		"SELECT mapApply(file, map('a', '" + secret + "'))":                                                                                         reads,
		"SELECT arrayFilter(url, ['http://" + at + "/'])":                                                                                           reads,
		"SHOW TABLES WHERE file('" + secret + "') LIKE 'h%'":                                                                                        reads,
		"SHOW COLUMNS FROM t WHERE file('" + secret + "') LIKE 'h%'":                                                                                reads,
		"SHOW TABLES LIMIT length(file('" + secret + "'))":                                                                                          reads,
		"DESCRIBE filesystem('" + filepath.Dir(secret) + "')":                                                                                       reads,
		"SELECT * FROM viewIfPermitted(SELECT 1 ELSE filesystem('/'))":                                                                              reads,
		"DESCRIBE default.`" + secret + "`":                                                                                                         "does not exist",
		"EXPLAIN PIPELINE INSERT INTO t SELECT 1":                                                                                                   reads,
		"EXPLAIN PIPELINE INSERT INTO FUNCTION file('" + file + "', 'CSV', 'n UInt8') SELECT 1":                                                     reads,
		"SELECT aiGenerate('x')":                                                                                                                    reads,
	} {
		out, err := ask(t.Context(), store, sql)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", sql, out, err, want)
		}
		if strings.Contains(out, "hidden") {
			t.Errorf("%s: read a file: %q", sql, out)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s: a file was written", sql)
		}
		select {
		case <-called:
			t.Errorf("%s: another server was asked", sql)
		default:
		}
	}
	store.Timeout = time.Second
	if out, err := ask(t.Context(), store, "SELECT count() FROM numbers(100000000000) WHERE NOT ignore(sipHash64(number))"); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("a long statement: %q, %v", out, err)
	}
	var sum, tables uint64
	if err := conn.QueryRow(t.Context(), "SELECT (SELECT sum(n) FROM t), (SELECT count() FROM system.tables WHERE database = currentDatabase())").Scan(&sum, &tables); err != nil {
		t.Fatal(err)
	}
	if sum != 1 || tables != 1 {
		t.Errorf("afterwards: sum %d, %d tables; want 1 and 1", sum, tables)
	}
}

// Nothing that a statement says, or is refused with, tells whether a file is there.
func TestClickHouseTellsNothingOfFiles(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	dir := t.TempDir()
	store := ClickHouse{Conn: conn, Timeout: time.Minute}
	for i, sql := range []string{
		"EXISTS TABLE default.`FILE`", "EXISTS default.`FILE`", "EXISTS VIEW default.`FILE`", "EXISTS DICTIONARY default.`FILE`", "EXISTS TABLE `FILE`",
		"SHOW CREATE TABLE default.`FILE`", "SHOW COLUMNS FROM `FILE` FROM default", "DESCRIBE TABLE default.`FILE`", "SELECT * FROM default.`FILE`", "SELECT 1 IN default.`FILE`",
		"EXPLAIN SELECT * FROM default.`FILE`", "EXPLAIN ESTIMATE SELECT * FROM default.`FILE`", "SELECT hasColumnInTable('default', 'FILE', 'c1')",
		"SELECT hasColumnInTable(concat('def', 'ault'), 'FILE', 'c1')", "SELECT * FROM merge('default', 'FILE')", "SELECT * FROM mergeTreeIndex('default', 'FILE')",
		"SELECT joinGet('FILE', 'a', 1)", "SELECT count() FROM system.tables WHERE database = 'default' AND name = 'FILE'",
	} {
		there := filepath.Join(dir, "there-"+string(rune('a'+i))+".csv")
		if err := os.WriteFile(there, []byte("hidden,1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		asked := func(file string) string {
			text := ""
			for range 2 { // what one statement opens, the next might read
				out, err := ask(t.Context(), store, strings.ReplaceAll(sql, "FILE", file))
				text += out + " "
				if err != nil {
					text += err.Error() + " "
				}
			}
			return strings.NewReplacer(file, "FILE", strings.TrimSuffix(file, filepath.Ext(file)), "FILE").Replace(text)
		}
		if yes, no := asked(there), asked(filepath.Join(dir, "never-"+string(rune('a'+i))+".csv")); yes != no || strings.Contains(yes, "hidden") {
			t.Errorf("%s says of a file that is there:\n%s\nand of one that is not:\n%s", sql, yes, no)
		}
	}
}
