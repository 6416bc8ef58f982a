package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"tributary/internal/engine"
	"tributary/internal/engine/chdb"
	"tributary/internal/engine/enginetest"
)

// outfile are spellings of a statement that would write to, or insert from, the
// file F. Many of them once got past a look for the words.
func outfile() []string {
	const o = " INTO OUTFILE 'F'"
	return []string{
		"SELECT 1" + o, "SELECT 1 into -- x\n outfile 'F'", "SELECT 1 INTO/**/OUTFILE/**/'F'", "SELECT 1 INTO\vOUTFILE\f'F'", `SELECT 1 INTO OUTFILE "F"`,
		// heredocs
		"SELECT $$'$$" + o, "SELECT $a$'$a$" + o, "SELECT $a$ ( $a$" + o, "SELECT $$ ( $$" + o, "SELECT 1 INTO OUTFILE $$F$$", "SELECT $$--$$" + o, "SELECT $$/*$$" + o,
		// comments
		"SELECT 1 # (\n" + o, "SELECT 1 #! (\n" + o, "SELECT 1 # '\n" + o, "SELECT 1 -- (\n" + o, "SELECT 1 -- '\n" + o, "SELECT 1 /* ( */" + o,
		"SELECT 1 /* /* */ ( */" + o, "SELECT 1 /* /* */ ' */" + o, "SELECT 1 /*'*/" + o,
		// quotes
		"SELECT ‘ ( ’" + o, "SELECT ‘'’" + o, "SELECT 1 AS “'”" + o, "SELECT 1 AS `'`" + o, `SELECT 1 AS "'"` + o, "SELECT 1 INTO OUTFILE ‘F’", `SELECT '\\'` + o, `SELECT '\'' '` + o, "SELECT ''''" + o,
		"SELECT x'27', b'01'" + o, `SELECT x'\'` + o, "SELECT 1 AS `a``b`" + o, "SELECT 1 AS `a\\`b`" + o,
		// brackets
		"(SELECT 1)" + o, "(SELECT 1" + o + ")", "SELECT (SELECT 1" + o + ")", "SELECT ')', '('" + o, "SELECT ')'" + o, "SELECT '('" + o, "SELECT [1]" + o, "SELECT {'a': 1}" + o,
		// around it
		"WITH 1 AS x SELECT x" + o, "WITH x AS (SELECT 1) SELECT * FROM x" + o, "SELECT 1 UNION ALL SELECT 2" + o, "FROM numbers(1) SELECT number" + o,
		"EXPLAIN SELECT 1" + o, "EXPLAIN AST SELECT 1" + o, "EXPLAIN AST SELECT $$'$$" + o, "EXPLAIN SYNTAX SELECT 1 # (\n" + o, "SELECT * FROM (EXPLAIN SELECT 1" + o + ")",
		"DESCRIBE TABLE t" + o, "DESCRIBE (SELECT $$'$$)" + o, "SHOW TABLES" + o, "SHOW TABLES # (\n" + o, "EXISTS TABLE t" + o, "SHOW CREATE TABLE t" + o,
		"SELECT 1" + o + " FORMAT CSV", "SELECT $$'$$" + o + " FORMAT CSV", "SELECT $$'$$" + o + " TRUNCATE FORMAT CSV", "SELECT $$'$$" + o + " APPEND", "SELECT $$'$$" + o + " AND STDOUT",
		"SELECT $$'$$" + o + " COMPRESSION 'gzip'", "SELECT $$'$$ SETTINGS max_threads = 1" + o, "SELECT 1" + o + " SETTINGS max_threads = 1", "SELECT 1 FORMAT CSV" + o,
		"SELECT 1; SELECT 2" + o, "SELECT $$'$$; SELECT 2" + o, "SELECT 1;" + o,
		// spaces
		"SELECT 1\u00a0INTO\u00a0OUTFILE\u00a0'F'", "SELECT 1 INTO\u2003OUTFILE\u3000'F'", "SELECT 1 INTO OUTFILE\u200b'F'", "SELECT 1 INTO\ufeffOUTFILE 'F'", "\ufeffSELECT 1" + o,
		"SELECT 1 INTO\u2028OUTFILE 'F'", "SELECT 1 \x00" + o, "SELECT 1 AS a$b$ (1)" + o, "SELECT 1 ––" + o,
		// inserts
		"INSERT INTO t FROM INFILE 'F' FORMAT CSV", "INSERT INTO t # (\n FROM INFILE 'F' # )\n FORMAT CSV", "INSERT INTO t SELECT $$'$$" + o,
	}
}

// No spelling gets a file written, neither past our look nor past the engine's
// own, whoever asks it.
func TestNoSpellingNamesAFile(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.Exec(t.Context(), "CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	store := ClickHouse{Conn: conn, Timeout: time.Minute}
	folder := t.TempDir()
	readonly := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"readonly": 1}))
	for _, spelling := range outfile() {
		sql := spelling
		for _, quotes := range []string{"'%'", `"%"`, "$$%$$", "‘%’"} {
			sql = strings.ReplaceAll(sql, strings.Replace(quotes, "%", "F", 1), strings.Replace(quotes, "%", filepath.Join(folder, "out"), 1))
		}
		_, asked := ask(t.Context(), store, sql)
		for way, err := range map[string]error{
			"in tributary sql": asked, "reading": conn.Exec(readonly, sql), "writing": conn.Exec(t.Context(), sql), "explained": conn.Exec(readonly, "EXPLAIN AST "+sql),
		} {
			if err == nil {
				t.Errorf("%q is run, %s", spelling, way)
			}
		}
		if !chdb.NamesAFile(sql) {
			t.Errorf("%q is not seen", spelling)
		}
		if found, err := os.ReadDir(folder); err != nil || len(found) > 0 {
			t.Fatalf("%q: files %v (%v)", spelling, found, err)
		}
	}
}

// What only speaks of files, and all else that reads, is answered; what a
// parameter says stays a value.
func TestClickHouseAnswersWhatReads(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.Exec(t.Context(), "CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	const hostile = "'); SELECT 1 INTO OUTFILE 'x' -- $$ ‘ # ("
	store := ClickHouse{Conn: conn, Timeout: time.Minute, Parameters: map[string]string{"x": hostile, "name": "file"}}
	for sql, want := range map[string]string{
		"SELECT 'INTO OUTFILE ''x'''":                                                       "INTO OUTFILE 'x'|",
		"SELECT 1 AS `FROM INFILE`, 'é # $$ -- /* \\'outfile'":                              "1|é # $$ -- /* 'outfile|",
		"SELECT $$'$$, 1 # (\n":                                                             "'|1|",
		"SELECT {x:String}":                                                                 hostile + "|",
		"SELECT file, arrayMap(x -> x, ['a']) FROM (SELECT 'x' AS file)":                    `x|["a"]|`,
		"SELECT arrayMap(x -> x, ['a']) AS `m`,\nfile FROM (SELECT 'x' AS file)":            `["a"]|x|`,
		"SELECT arrayMap(x -> concat(x, file), ['a']) FROM (SELECT 'x' AS file)":            `["ax"]|`,
		"SELECT arrayMap(x -> x, ['a']), t.file AS `f` FROM (SELECT 'x' AS file) AS t":      `["a"]|x|`,
		"SELECT file, [file, file][1], count(file) FROM (SELECT 'x' AS file) GROUP BY file": "x|x|1|",
		"SHOW TABLES":           "t|",
		"SHOW TABLES LIKE 't%'": "t|",
		"EXISTS TABLE t":        "1|",
		"EXPLAIN SELECT 1":      "Output: 1||ReadFromSystemOne|",
		"DESCRIBE TABLE t":      "n|UInt8||||||",
		"SELECT count() FROM (SELECT * FROM numbers(3))": "3|",
	} {
		if got, err := ask(t.Context(), store, sql); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", sql, got, err, want)
		}
	}
	if got, err := ask(t.Context(), store, "SELECT arrayMap({name:Identifier}, ['"+os.Args[0]+"'])"); err == nil {
		t.Errorf("a function named by a parameter was called: %.20q", got)
	}
}

// The functions of the engine that call others are all known.
func TestFunctionsThatCallOthers(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	rows, err := conn.Query(t.Context(), "SELECT name FROM system.functions WHERE higher_order = 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	count := 0
	for ; rows.Next(); count++ {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !callsByName(name) {
			t.Errorf("%s calls functions by their names", name)
		}
	}
	if err := rows.Err(); err != nil || count == 0 {
		t.Errorf("%d functions call others (%v)", count, err)
	}
}
