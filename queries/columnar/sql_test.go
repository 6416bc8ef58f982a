package columnar_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/queries/columnar"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
)

// column is one that was read back: its type, and its values as JSON.
type column struct{ Name, Type, Values string }

// readBack reads a file of columns as another program would.
func readBack(t *testing.T, format, content string) (columns []column, batches int) {
	t.Helper()
	var table arrow.Table
	switch format {
	case columnar.Parquet:
		f, err := file.NewParquetReader(strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		batches = f.NumRowGroups()
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		if table, err = r.ReadTable(t.Context()); err != nil {
			t.Fatal(err)
		}
	case columnar.Arrow:
		r, err := ipc.NewFileReader(bytes.NewReader([]byte(content)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		batches = r.NumRecords()
		var all []arrow.RecordBatch
		for i := range batches {
			b, err := r.RecordBatchAt(i)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		table = array.NewTableFromRecords(r.Schema(), all)
	}
	for i := range int(table.NumCols()) {
		c := column{Name: table.Column(i).Name(), Type: strings.ReplaceAll(table.Column(i).DataType().String(), "<item:", "<element:")} // as each format calls it
		var values strings.Builder
		for _, part := range table.Column(i).Data().Chunks() {
			for row := range part.Len() {
				values.WriteString(part.ValueStr(row) + ";")
			}
		}
		c.Values = values.String()
		columns = append(columns, c)
	}
	return columns, batches
}

// asked is what a store answers.
func asked(t *testing.T, store report.Store, sql, format string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := columnar.SQL(t.Context(), store, sql, &out, format)
	return out.String(), err
}

// exported runs a statement, once for each format of columns, and holds what is
// read back.
func exported(t *testing.T, store report.Store, sql string, want []column) {
	t.Helper()
	for _, format := range []string{columnar.Parquet, columnar.Arrow} {
		content, err := asked(t, store, sql, format)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		got, _ := readBack(t, format, content)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", format, d)
		}
	}
}

func TestColumnsOfPostgres(t *testing.T) {
	store := report.Postgres{Pool: reporttest.Filled(t), Schema: "tracker"}
	exported(t, store, `SELECT true AS b, NULL::bool AS nothing, 7::int2 AS i2, -7::int4 AS i4, 9223372036854775807 AS i8, 1.5::float4 AS f4, 'NaN'::float8 AS f8,
			(-12.50)::numeric(38,2) AS d, 0.1::numeric AS n, 'e'::text AS t, '\x00ff'::bytea AS bin, '{"k": 1}'::jsonb AS j, '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid AS u,
			'2026-11-21 10:00:00.5+02'::timestamptz AS z, '1969-12-31 10:00:00.000001'::timestamp AS local, '1969-12-30'::date AS day, '10:00:00.5'::time AS clock,
			'1 day'::interval AS span, ARRAY[1,NULL,3] AS list, ARRAY['a,b','NULL',NULL] AS texts, ARRAY[]::text[] AS none`, []column{
		{"b", "bool", "true;"}, {"nothing", "bool", "(null);"}, {"i2", "int16", "7;"}, {"i4", "int32", "-7;"}, {"i8", "int64", "9223372036854775807;"}, {"f4", "float32", "1.5;"}, {"f8", "float64", "NaN;"},
		{"d", "decimal(38, 2)", "-12.5;"}, {"n", "utf8", "0.1;"}, {"t", "utf8", "e;"}, {"bin", "binary", "AP8=;"}, {"j", "utf8", `{"k": 1};`}, {"u", "utf8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8;"},
		{"z", "timestamp[us, tz=UTC]", "2026-11-21T08:00:00.5Z;"}, {"local", "timestamp[us]", "1969-12-31T10:00:00.000001;"}, {"day", "date32", "1969-12-30;"}, {"clock", "time64[us]", "10:00:00.500000;"},
		{"span", "utf8", "1 day;"}, {"list", "list<element: int32, nullable>", "[1,null,3];"}, {"texts", "list<element: utf8, nullable>", `["a,b","NULL",null];`}, {"none", "list<element: utf8, nullable>", "[];"},
	})
	exported(t, store, "SELECT 1 AS a WHERE false", []column{{"a", "int32", ""}})
	for sql, want := range map[string]string{
		"SELECT 'infinity'::timestamptz AS never":     "the column never",
		"SELECT 'NaN'::numeric(4,2) AS odd":           "the column odd",
		"SELECT ARRAY[[1],[2]] AS square":             "2 dimensions",
		"SELECT 1/(n-3) FROM generate_series(1,9) n":  "division by zero",
		"SELECT '0044-03-15 BC'::date AS ides":        "make it a text",
		"DELETE FROM tracker.zip_file":                "only statements that read",
		"SELECT pg_sleep(60) FROM tracker.no_such_at": "no_such_at",
	} {
		for _, format := range []string{columnar.Parquet, columnar.Arrow} {
			if _, err := asked(t, store, sql, format); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s as %s: %v", sql, format, err)
			}
		}
	}
	// However many rows there are, a batch has a bounded number of them.
	for format := range map[string]bool{columnar.Parquet: true, columnar.Arrow: true} {
		content, err := asked(t, store, "SELECT n, 'x' AS t FROM generate_series(1, 150000) n", format)
		if err != nil {
			t.Fatal(err)
		}
		if _, batches := readBack(t, format, content); batches != 3 {
			t.Errorf("%s: %d batches", format, batches)
		}
		content, err = asked(t, store, "SELECT repeat('x', 9000000) AS t FROM generate_series(1, 4) n", format)
		if err != nil {
			t.Fatal(err)
		}
		if _, batches := readBack(t, format, content); batches != 2 {
			t.Errorf("%s: %d batches of long texts", format, batches)
		}
	}
}

func TestColumnsOfClickHouse(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	conn, err := engine.OpenClickHouse(endpoint, enginetest.Database(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	exported(t, report.ClickHouse{Conn: conn}, `SELECT true AS b, toInt8(-1) AS i8, toUInt64(18446744073709551615) AS u64, toInt128('170141183460469231731687303715884105727') AS wide, toFloat32(1.5) AS f32, nan AS f64,
			toDecimal64('-1.25', 4) AS d, 'x\xff' AS s, toFixedString('ab', 2) AS fixed, toLowCardinality(toNullable('low')) AS low, CAST('b' AS Enum8('a' = 1, 'b' = 2)) AS e, CAST(NULL AS Nullable(Int32)) AS nothing, NULL AS void,
			toUUID('6ba7b810-9dad-11d1-80b4-00c04fd430c8') AS u, toDate('2026-11-21') AS day, toDateTime('2026-11-21 10:00:00', 'Europe/Berlin') AS seconds, toDateTime64('2026-11-21 10:00:00.123456', 6, 'UTC') AS micro,
			toDateTime64('2026-11-21 10:00:00.123456789', 9, 'UTC') AS nano, [1, NULL] AS list, map('k', toUInt8(2), 'a', 1) AS m, (1, 'x') AS pair, toIPv4('127.0.0.1') AS ip`, []column{
		{"b", "bool", "true;"}, {"i8", "int8", "-1;"}, {"u64", "uint64", "18446744073709551615;"}, {"wide", "utf8", "170141183460469231731687303715884105727;"}, {"f32", "float32", "1.5;"}, {"f64", "float64", "NaN;"},
		{"d", "decimal(18, 4)", "-1.25;"}, {"s", "utf8", "x\uFFFD;"}, {"fixed", "utf8", "ab;"}, {"low", "utf8", "low;"}, {"e", "utf8", "b;"}, {"nothing", "int32", "(null);"}, {"void", "utf8", "(null);"},
		{"u", "utf8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8;"}, {"day", "date32", "2026-11-21;"}, {"seconds", "timestamp[us, tz=UTC]", "2026-11-21T09:00:00Z;"}, {"micro", "timestamp[us, tz=UTC]", "2026-11-21T10:00:00.123456Z;"},
		{"nano", "timestamp[ns, tz=UTC]", "2026-11-21T10:00:00.123456789Z;"}, {"list", "list<element: uint8, nullable>", "[1,null];"}, {"m", "map<utf8, uint8, items_nullable>", `[{"key":"a","value":1},{"key":"k","value":2}];`},
		{"pair", "utf8", `[1,"x"];`}, {"ip", "utf8", "127.0.0.1;"},
	})
}
