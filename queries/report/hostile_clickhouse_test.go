package report

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
)

// further are ways to write, to read files, to reach others and to change what
// the engine does, beside those of TestClickHouseKeepsStatementsFromWriting. FILE
// is a file that is there, AT an address that is listened on.
func further() []string {
	return []string{
		// writing
		"INSERT INTO FUNCTION null('n UInt8') SELECT 1", "INSERT INTO t FORMAT Values (1)", "REPLACE TABLE t (n UInt8) ENGINE = Memory", "CREATE OR REPLACE TABLE t (n UInt8) ENGINE = Memory",
		"CREATE DATABASE d", "CREATE DATABASE d ENGINE = Filesystem('/')", "CREATE VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW v ENGINE = Memory AS SELECT 1", "CREATE LIVE VIEW v AS SELECT 1",
		"CREATE DICTIONARY d (n UInt8) PRIMARY KEY n SOURCE(file(path 'FILE' format 'CSV')) LAYOUT(FLAT()) LIFETIME(1)", "CREATE NAMED COLLECTION c AS a = 1", "CREATE QUOTA q", "CREATE ROLE r", "CREATE ROW POLICY p ON t USING 1",
		"CREATE SETTINGS PROFILE p SETTINGS readonly = 0", "CREATE TABLE f ENGINE = File(CSV, 'FILE')", "CREATE TABLE u (a String) ENGINE = URL('http://AT/', CSV)", "CREATE TABLE e (n UInt8) ENGINE = Executable('x', CSV)",
		"CREATE WORKLOAD w", "CREATE RESOURCE r (WRITE DISK d)", "CREATE INDEX i ON t (n) TYPE minmax", "CREATE TABLE c AS t", "CREATE TABLE c CLONE AS t",
		"ALTER TABLE t ADD COLUMN m UInt8", "ALTER TABLE t DROP COLUMN n", "ALTER TABLE t MODIFY SETTING max_parts_in_total = 1", "ALTER TABLE t FREEZE", "ALTER TABLE t DROP PARTITION tuple()", "ALTER TABLE t ATTACH PARTITION tuple()",
		"ALTER TABLE t MODIFY COMMENT 'x'", "ALTER USER default IDENTIFIED BY 'x'", "ALTER TABLE t FETCH PARTITION tuple() FROM '/x'", "ALTER TABLE t MOVE PARTITION tuple() TO DISK 'x'",
		"DROP DATABASE default", "DROP VIEW t", "DROP FUNCTION f", "DROP USER default", "DROP NAMED COLLECTION c", "UNDROP TABLE t", "ATTACH TABLE t", "ATTACH DATABASE d", "DETACH DATABASE default", "TRUNCATE DATABASE default", "UPDATE t SET n = 2 WHERE 1",
		"BACKUP TABLE t TO File('FILE')", "RESTORE TABLE t FROM File('FILE')", "BACKUP ALL TO Disk('default', 'x')", "CHECK TABLE t", "OPTIMIZE TABLE t DEDUPLICATE", "GRANT SELECT ON *.* TO default", "REVOKE ALL ON *.* FROM default",
		"SET ROLE NONE", "SET DEFAULT ROLE NONE TO default", "USE system", "BEGIN TRANSACTION", "COMMIT", "ROLLBACK", "EXECUTE AS default SELECT 1", "PARALLEL WITH SELECT 1",
		"MOVE USER default TO x", "DELETE FROM system.one WHERE 1", "COPY t FROM 'FILE'", "WITH x AS (SELECT 1) INSERT INTO t SELECT 1",
		// what the engine does
		"SYSTEM FLUSH LOGS", "SYSTEM DROP MARK CACHE", "SYSTEM RELOAD CONFIG", "SYSTEM KILL", "SYSTEM STOP FETCHES", "SYSTEM SYNC TRANSACTION LOG", "SYSTEM ENABLE FAILPOINT x", "KILL MUTATION WHERE 1", "SYSTEM UNFREEZE WITH NAME 'x'",
		"SELECT sleepEachRow(3) FROM numbers(1000000)", "SELECT sleep(1000)",
		// files
		"SELECT * FROM file('FILE')", "SELECT * FROM fileCluster('x', 'FILE', 'CSV')", "SELECT * FROM filesystem('/')", "SELECT * FROM dictionary('d')", "SELECT dictGet('d', 'a', 1)", "SELECT * FROM loop(file('FILE'))",
		"SELECT * FROM (SELECT * FROM file('FILE', 'CSV', 'a String'))", "WITH f AS (SELECT * FROM file('FILE', 'CSV', 'a String')) SELECT * FROM f", "SELECT 1 UNION ALL SELECT length(file('FILE'))", "SELECT (SELECT file('FILE'))", "SELECT if(1, file('FILE'), '')",
		"SELECT n FROM t PREWHERE n = length(file('FILE'))", "SELECT n FROM t WHERE n = length(file('FILE'))", "SELECT n FROM t ORDER BY length(file('FILE'))", "SELECT n FROM t GROUP BY n HAVING max(length(file('FILE'))) > 0", "SELECT n FROM t LIMIT length(file('FILE'))",
		"SELECT * FROM t JOIN file('FILE', 'CSV', 'a String, n UInt8') f ON t.n = f.n", "SELECT FILE('FILE')", "SELECT `file`('FILE')", "SELECT \"file\"('FILE')", "SELECT file /* x */ ('FILE')", "EXPLAIN SYNTAX SELECT file('FILE')", "EXPLAIN ESTIMATE SELECT * FROM file('FILE', 'CSV', 'a String')",
		"EXPLAIN QUERY TREE SELECT file('FILE')", "SELECT arrayReduce(file, ['FILE'])", "SELECT arrayFold((a, x) -> file(x), ['FILE'], '')", "SELECT catboostEvaluate('FILE', 1)", "SELECT * FROM sqlite('FILE', 't')", "SELECT * FROM iceberg('FILE')", "SELECT * FROM icebergLocal('FILE')", "SELECT * FROM deltaLakeLocal('FILE')",
		"SELECT * FROM executable('cat FILE', 'CSV', 'a String')", "SELECT * FROM python('x')", "SELECT * FROM input('a String')",
		// others
		"SELECT * FROM url('http://AT/x.csv')", "SELECT * FROM urlCluster('x', 'http://AT/', 'CSV', 'a String')", "SELECT * FROM gcs('http://AT/b/x.csv', 'CSV', 'a String')", "SELECT * FROM hdfs('hdfs://AT/x', 'CSV', 'a String')", "SELECT * FROM azureBlobStorage('http://AT', 'c', 'b')",
		"SELECT * FROM remoteSecure('AT', system.one)", "SELECT * FROM cluster('default', system.one)", "SELECT * FROM clusterAllReplicas('default', system.one)", "SELECT * FROM mongodb('AT', 'd', 'c', 'u', 'p', 'a String')", "SELECT * FROM redis('AT', 'k', 'k String')", "SELECT * FROM jdbc('jdbc:x', 's', 't')",
		"SELECT * FROM odbc('DSN=x', 's', 't')", "SELECT * FROM arrowFlight('AT', 'x')", "SELECT * FROM ytsaurus('http://AT', 'p', 't', 'a String')", "SELECT 1 IN url('http://AT/', 'CSV', 'a UInt8')", "DESCRIBE TABLE s3('http://AT/b/x.csv')", "DESCRIBE (SELECT * FROM url('http://AT/', 'CSV', 'a String'))",
	}
}

// unbound are ways to lift the bounds of a statement.
func unbound() []string {
	return []string{
		"SELECT 1 SETTINGS readonly = 0", "SELECT 1 SETTINGS readonly = 2", "SELECT 1 SETTINGS max_execution_time = 0", "SELECT 1 SETTINGS max_memory_usage = 0", "SELECT 1 SETTINGS max_memory_usage_for_user = 0",
		"SELECT 1 SETTINGS max_threads = 1000", "SELECT 1 SETTINGS timeout_overflow_mode = 'break'", "SELECT 1 SETTINGS log_queries = 0",
		"SELECT 1 SETTINGS max_bytes_before_external_sort = 1", "SELECT 1 SETTINGS function_sleep_max_microseconds_per_block = 0", "SELECT 1 SETTINGS max_result_rows = 1", "SELECT 1 SETTINGS allow_ddl = 1, readonly = 0", "SET readonly = 0", "SET max_execution_time = 0", "SET profile = 'default'",
	}
}

// exhausting are ways to use up memory and the processor.
func exhausting() []string {
	return []string{
		"SELECT groupArray(number) FROM numbers(1000000000)", "SELECT arrayJoin(range(1000000000))", "SELECT length(repeat('x', 2000000000))", "SELECT uniqExact(number) FROM numbers(1000000000)",
		"SELECT count() FROM (SELECT DISTINCT number FROM numbers(1000000000))", "SELECT sumMap([number], [1]) FROM numbers(1000000000)", "SELECT number FROM numbers(1000000000) ORDER BY rand() LIMIT 1 OFFSET 900000000",
		"SELECT count() FROM numbers(1000000000) a JOIN numbers(1000000000) b USING number", "SELECT sum(cityHash64(a.number, b.number)) FROM numbers(10000000) a, numbers(10000000) b", "SELECT arrayStringConcat(arrayMap(x -> repeat('x', 1000), range(10000000)))",
		"SELECT quantileExact(number) FROM numbers(1000000000)", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT sum(n) FROM r", "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)",
		// A subquery may say so, and is bounded all the same.
		"SELECT * FROM (SELECT sum(sipHash64(number)) FROM numbers(1000000000000) SETTINGS max_execution_time = 0)", "SELECT * FROM (SELECT groupArray(number) FROM numbers(1000000000) SETTINGS max_memory_usage = 0)",
		"SELECT * FROM (SELECT * FROM file('FILE') SETTINGS allow_ddl = 1, readonly = 0)", "SELECT * FROM (SELECT * FROM url('http://AT/x.csv') SETTINGS readonly = 0)",
	}
}

// trap is a database with a table t of one row, and what no statement may reach.
type trap struct {
	conn   driver.Conn
	at     string        // address of a server
	called chan struct{} // has an element for each time that it was asked
	secret string        // a file, alone in its folder
}

func newTrap(t *testing.T) trap {
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for _, s := range []string{"CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n", "INSERT INTO t VALUES (1)"} {
		if err := conn.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tr := trap{conn: conn, at: listener.Addr().String(), called: make(chan struct{}, 100), secret: filepath.Join(t.TempDir(), "secret.csv")}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			tr.called <- struct{}{}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	if err := os.WriteFile(tr.secret, []byte("hidden,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return tr
}

// Whatever a statement tries, it is refused, or ended by its time or its memory,
// and leaves nothing: those of TestClickHouseKeepsStatementsFromWriting are others.
func TestClickHouseRefusesFurtherWays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and is left out with -short; quicker: TestClickHouseKeepsStatementsFromWriting")
	}
	tr := newTrap(t)
	conn, called := tr.conn, tr.called
	folder, secret := filepath.Dir(tr.secret), tr.secret
	store := ClickHouse{Conn: conn, Timeout: 2 * time.Second, MaxMemory: 100 << 20}
	ways := slices.Concat(further(), unbound(), exhausting())
	if n := len(slices.Compact(slices.Sorted(slices.Values(ways)))); n < 150 {
		t.Errorf("only %d ways", n)
	}
	for _, way := range ways {
		sql := strings.NewReplacer("FILE", secret, "AT/", tr.at+"/", "'AT'", "'"+tr.at+"'").Replace(way)
		if strings.HasPrefix(way, "SELECT FILE(") {
			sql = "SELECT FILE('" + secret + "')"
		}
		out, err := ask(t.Context(), store, sql)
		if err == nil || strings.Contains(out, "hidden") {
			t.Errorf("%s: %.100q, %v", way, out, err)
		}
		select {
		case <-called:
			t.Errorf("%s: another server was asked", way)
		default:
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	var sum, tables, databases uint64
	if err := conn.QueryRow(t.Context(), "SELECT (SELECT sum(n) FROM t), (SELECT count() FROM system.tables WHERE database = currentDatabase()), (SELECT count() FROM system.databases WHERE name = 'd')").Scan(&sum, &tables, &databases); err != nil {
		t.Fatal(err)
	}
	if sum != 1 || tables != 1 || databases != 0 {
		t.Errorf("afterwards: sum %d, %d tables, %d databases", sum, tables, databases)
	}
}
