package report_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
)

func TestSQLOnPostgres(t *testing.T) {
	pool := reporttest.Filled(t)
	store := report.Postgres{Pool: pool, Schema: "tracker"}
	for _, tc := range []struct{ sql, format, want string }{
		{"SELECT 1 AS a, NULL::text AS b, 'x\"y' AS c, true AS d, 1.50::numeric AS e, '{\"k\": [1]}'::jsonb AS f", report.JSON, `{"a":1,"b":null,"c":"x\"y","d":true,"e":1.50,"f":{"k":[1]}}` + "\n"},
		{"SELECT 'NaN'::float8 AS n, '2026-11-21 10:00:00.5+00'::timestamptz AS t", report.JSON, `{"n":"NaN","t":"2026-11-21T10:00:00.5Z"}` + "\n"},
		{"select file, centre from file order by 1 desc limit 1;", report.CSV, "file,centre\nH2012.zip,\n"},
		{"SELECT file FROM tracker.file WHERE false", report.CSV, "file\n"},
		{"/* c */ -- d\n (SELECT count(*) AS n FROM file)", report.Table, "N\n4\n"},
		{"VALUES (1), (2)", report.JSON, "{\"column1\":1}\n{\"column1\":2}\n"},
	} {
		got, err := sqlOn(t.Context(), store, tc.sql, tc.format)
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.sql, got, err, tc.want)
		}
	}
	for sql, want := range map[string]string{
		"":                                   "no statement",
		"DELETE FROM zip_file":               "only statements that read",
		"COPY phase TO PROGRAM 'true'":       "only statements that read",
		"SELECT 1; SELECT 2":                 "one statement at a time",
		"SELECT 1; DROP SCHEMA tracker":      "one statement at a time",
		"SELECT pg_read_file('/etc/passwd')": "only reads",
		"SELECT set_config('transaction_read_only', 'off', false)":             "before any query",
		"WITH d AS (DELETE FROM tracker.zip_file RETURNING 1) SELECT * FROM d": "only reads",
		"EXPLAIN ANALYZE DELETE FROM tracker.zip_file":                         "only reads",
		"SELECT * FROM nothing":                                                "nothing",
	} {
		if out, err := sqlOn(t.Context(), store, sql, report.JSON); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", sql, out, err, want)
		}
	}
	short := report.Postgres{Pool: pool, Schema: "tracker", Timeout: 50 * time.Millisecond}
	if _, err := sqlOn(t.Context(), short, "SELECT pg_sleep(60)", report.JSON); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("a long statement: %v", err)
	}
}

// A row is held whole by who reads it, several times over, and Postgres makes one of a gigabyte
// if it is asked to: what is too long isn't taken in, and neither is an error that repeats it.
func TestWideAnswersAreNotTakenIn(t *testing.T) {
	store := report.Postgres{Pool: reporttest.Filled(t), Schema: "tracker"}
	if a, err := report.Ask(t.Context(), store, "SELECT repeat('a', 8000000) AS a, repeat('b', 8000000) AS b FROM generate_series(1, 3)", 2); err != nil || len(a.Rows) != 2 || !a.More || len(a.Rows[1]) != 2 {
		t.Errorf("rows of 16 MB: %d, more %v, %v", len(a.Rows), a.More, err)
	}
	for _, sql := range []string{"SELECT repeat('a', 100000000)", "SELECT 1, repeat('a', 10000000), repeat('b', 10000000)", "SELECT repeat('a', 30000000)::int", "SELECT array_agg(repeat('a', 1000)) FROM generate_series(1, 30000)"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := report.Ask(t.Context(), store, sql, 10)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "more than 16 MiB: choose other columns") {
			t.Errorf("%s: %v", sql, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%s takes %d bytes", sql, took)
		}
	}
}

func TestSQLOnClickHouse(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.Exec(t.Context(), "CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	store := report.ClickHouse{Conn: conn}
	for _, tc := range []struct{ sql, format, want string }{
		{"SELECT toUInt64(7) AS a, NULL AS b, 'x;y' AS c, toDateTime64('2026-11-21 10:00:00.5', 6, 'UTC') AS t, map('k', 'v') AS m, [1, 2] AS l, nan AS f, toUUID('6ba7b810-9dad-11d1-80b4-00c04fd430c8') AS u", report.JSON,
			`{"a":7,"b":null,"c":"x;y","t":"2026-11-21T10:00:00.5Z","m":{"k":"v"},"l":[1,2],"f":"NaN","u":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}` + "\n"},
		{"SELECT toNullable(3) AS n;", report.CSV, "n\n3\n"},
	} {
		got, err := sqlOn(t.Context(), store, tc.sql, tc.format)
		if err != nil || got != tc.want {
			t.Errorf("%s:\n got %q, %v\nwant %q", tc.sql, got, err, tc.want)
		}
	}
	for sql, want := range map[string]string{
		"INSERT INTO t VALUES (1)": "only statements that read",
		"DROP TABLE t":             "only statements that read",
		"SELECT 1; DROP TABLE t":   "one statement at a time",
		"SELECT * FROM nothing":    "nothing",
	} {
		if out, err := sqlOn(t.Context(), store, sql, report.JSON); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", sql, out, err, want)
		}
	}
	short := report.ClickHouse{Conn: conn, Timeout: time.Second}
	if _, err := sqlOn(t.Context(), short, "SELECT count() FROM numbers(100000000000) WHERE NOT ignore(sipHash64(number))", report.JSON); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("a long statement: %v", err)
	}
}
