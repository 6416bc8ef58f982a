package chdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/google/go-cmp/cmp"
)

// post sends a raw request, as clients other than clickhouse-go may.
func post(t testing.TB, s *Server, params url.Values, body io.Reader) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.o.Socket)
		},
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/?"+params.Encode(), body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// wantCode checks that err is ClickHouse's exception of that code.
func wantCode(t testing.TB, err error, code int32) {
	t.Helper()
	var e *clickhouse.Exception
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error is %v, want code %d", err, code)
	}
}

// The numbers are those of the incompatibilities that were found between the
// engine and clickhouse-go.
func TestIncompatibilities(t *testing.T) {
	s := start1(t, options(t))
	c := connect(t, s, nil)
	ctx := t.Context()

	t.Run("1 the revision that the server reports", func(t *testing.T) {
		v, err := c.ServerVersion()
		if err != nil || v.Version.Major < 26 || v.Revision != 0 || v.Timezone.String() != "UTC" {
			t.Errorf("version %v, %v", v, err)
		}
	})

	t.Run("2 data behind the statement in one body", func(t *testing.T) {
		mustExec(t, c, "CREATE TABLE inline (s String, n UInt8) ENGINE = MergeTree ORDER BY n")
		// One block: 2 columns, 2 rows; with a newline byte (10) among the data.
		data := "\x02\x02" + "\x01s\x06String" + "\x02\na" + "\x01b" + "\x01n\x05UInt8" + "\x0a\x0b"
		if status, text := post(t, s, url.Values{}, strings.NewReader("INSERT INTO inline (s, n) FORMAT Native\n"+data)); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if status, text := post(t, s, url.Values{}, strings.NewReader("INSERT INTO inline FORMAT CSV\n\"c\",12\n")); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if status, text := post(t, s, url.Values{"query": {"INSERT INTO inline VALUES"}}, strings.NewReader("('d', 13)")); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if n := count(t, c, "SELECT sum(n) FROM inline WHERE s IN ('\\na', 'b', 'c', 'd')"); n != 46 {
			t.Errorf("sum = %d, want 46", n)
		}
	})

	t.Run("3 time zones", func(t *testing.T) {
		at := time.Date(2024, 7, 1, 12, 34, 56, 789e6, time.UTC)
		var plain, exact time.Time
		if err := c.QueryRow(ctx, "SELECT toDateTime(?, 'UTC'), toDateTime64('2024-07-01 12:34:56.789', 3, 'UTC')", at).Scan(&plain, &exact); err != nil {
			t.Fatal(err)
		}
		if !plain.Equal(at.Truncate(time.Second)) || !exact.Equal(at) || exact.Location().String() != "UTC" {
			t.Errorf("got %v and %v", plain, exact)
		}
	})

	t.Run("4 the database of the connection", func(t *testing.T) {
		mustExec(t, c, "CREATE DATABASE `other db`")
		other := connect(t, s, func(o *clickhouse.Options) { o.Auth.Database = "other db" })
		mustExec(t, other, "CREATE TABLE here (id UInt8) ENGINE = MergeTree ORDER BY id")
		var db string
		if err := other.QueryRow(ctx, "SELECT currentDatabase()").Scan(&db); err != nil || db != "other db" {
			t.Errorf("database %q, %v", db, err)
		}
		if err := c.QueryRow(ctx, "SELECT currentDatabase()").Scan(&db); err != nil || db != "default" {
			t.Errorf("database %q, %v", db, err)
		}
		nowhere := connect(t, s, func(o *clickhouse.Options) { o.Auth.Database = "nowhere" })
		wantCode(t, nowhere.Exec(ctx, "SELECT 1"), 81)
	})

	t.Run("5 query ids are accepted, cancelling goes by tag", func(t *testing.T) {
		ctx := clickhouse.Context(ctx, clickhouse.WithQueryID("mine"))
		if n := func() uint64 {
			var n uint64
			if err := c.QueryRow(ctx, "SELECT count() FROM system.processes WHERE startsWith(query, '/* rid:')").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}(); n != 1 {
			t.Errorf("%d statements with a tag run, want this one", n)
		}
	})

	t.Run("6 progress is never reported, and asking for it does no harm", func(t *testing.T) {
		called := false
		ctx := clickhouse.Context(ctx, clickhouse.WithProgress(func(*clickhouse.Progress) { called = true }))
		if err := c.Exec(ctx, "SELECT 1"); err != nil || called {
			t.Errorf("called %v, %v", called, err)
		}
	})

	t.Run("7 external tables are refused", func(t *testing.T) {
		table, err := ext.NewTable("t", ext.Column("a", "UInt8"))
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Append(uint8(1)); err != nil {
			t.Fatal(err)
		}
		_, err = c.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(table)), "SELECT * FROM t")
		wantCode(t, err, codeNotImplemented)
	})

	t.Run("8 an empty result has its columns", func(t *testing.T) {
		rows, err := c.Query(ctx, "SELECT number AS n, toString(number) AS s, {p:String} AS p FROM numbers(10) WHERE number > 10; ",
			clickhouse.Named("p", "x"))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if diff := cmp.Diff([]string{"n", "s", "p"}, rows.Columns()); diff != "" {
			t.Error(diff)
		}
		if rows.Next() || rows.Err() != nil {
			t.Errorf("a row, or %v", rows.Err())
		}
	})

	t.Run("9 insert from select", func(t *testing.T) {
		mustExec(t, c, "CREATE TABLE copied (n UInt64) ENGINE = MergeTree ORDER BY n")
		mustExec(t, c, "INSERT INTO copied SELECT number FROM numbers(100)")
		if n := count(t, c, "SELECT count() FROM copied"); n != 100 {
			t.Errorf("%d rows", n)
		}
	})

	t.Run("10 several statements are refused and none runs", func(t *testing.T) {
		wantCode(t, c.Exec(ctx, "CREATE TABLE a1 (id UInt8) ENGINE = Memory; CREATE TABLE a2 (id UInt8) ENGINE = Memory"), codeSyntax)
		wantCode(t, c.Exec(ctx, "SELECT 1; SELECT 2"), codeSyntax)
		if n := count(t, c, "SELECT count() FROM system.tables WHERE name IN ('a1', 'a2')"); n != 0 {
			t.Errorf("%d tables were made", n)
		}
		mustExec(t, c, "SELECT ';';")
	})

	t.Run("11 the native protocol is not served", func(t *testing.T) {
		native := connect(t, s, func(o *clickhouse.Options) {
			o.Protocol, o.DialTimeout, o.ReadTimeout = clickhouse.Native, 200*time.Millisecond, 200*time.Millisecond
		})
		if err := native.Ping(ctx); err == nil {
			t.Error("the native protocol was understood")
		}
	})
}

func TestTypes(t *testing.T) {
	c := connect(t, start1(t, options(t)), nil)
	mustExec(t, c, `CREATE TABLE types (id UInt64, s LowCardinality(String), n Nullable(Int32), ln LowCardinality(Nullable(String)),
		a Array(String), m Map(String, UInt64), e Enum8('x' = 1, 'y' = 2), d Date, at DateTime64(6, 'UTC'), f Float64, b Bool, u UUID)
		ENGINE = ReplacingMergeTree ORDER BY id`)
	type row struct {
		ID uint64            `ch:"id"`
		S  string            `ch:"s"`
		N  *int32            `ch:"n"`
		LN *string           `ch:"ln"`
		A  []string          `ch:"a"`
		M  map[string]uint64 `ch:"m"`
		E  string            `ch:"e"`
		D  time.Time         `ch:"d"`
		At time.Time         `ch:"at"`
		F  float64           `ch:"f"`
		B  bool              `ch:"b"`
		U  string            `ch:"u"`
	}
	n, text := int32(-5), "there"
	want := []row{
		{ID: 1, S: "a", N: &n, LN: &text, A: []string{"x", ""}, M: map[string]uint64{"k": 1}, E: "y", D: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
			At: time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC), F: 1.5, B: true, U: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{ID: 2, S: "ä\x00", A: []string{}, M: map[string]uint64{}, E: "x", D: time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC),
			At: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), U: "00000000-0000-0000-0000-000000000000"},
	}
	b, err := c.PrepareBatch(t.Context(), "INSERT INTO types")
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if err := b.AppendStruct(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Send(); err != nil {
		t.Fatal(err)
	}
	var got []row
	if err := c.Select(t.Context(), &got, "SELECT * FROM types FINAL ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParametersAndSettings(t *testing.T) {
	c := connect(t, start1(t, options(t)), nil)
	var n uint64
	var text string
	nasty := "q'uo\"te\t\n\\ `ä` {x:UInt64} ?"
	if err := c.QueryRow(t.Context(), "SELECT {n:UInt64}, {s:String}", clickhouse.Named("n", 42), clickhouse.Named("s", nasty)).Scan(&n, &text); err != nil {
		t.Fatal(err)
	}
	if n != 42 || text != nasty {
		t.Errorf("got %d %q", n, text)
	}
	if err := c.QueryRow(t.Context(), "SELECT ?", nasty).Scan(&text); err != nil || text != nasty {
		t.Errorf("got %q, %v", text, err)
	}
	value := func(ctx context.Context) (v string) {
		t.Helper()
		if err := c.QueryRow(ctx, "SELECT toString(getSetting('max_threads')) || '/' || toString(getSetting('async_insert'))").Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := value(t.Context())
	with := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_threads": 7, "async_insert": 1}))
	if got := value(with); got != "7/true" && got != "7/1" {
		t.Errorf("settings of the statement: %s", got)
	}
	mustExec(t, c, "SET max_threads = 9")
	mustExec(t, c, "USE system")
	mustExec(t, c, "CREATE TEMPORARY TABLE leaked (id UInt8)")
	for range maxConns {
		if got := value(t.Context()); got != before {
			t.Errorf("a setting leaked into another statement: %s, was %s", got, before)
		}
		if n := count(t, c, "SELECT count() FROM system.tables WHERE name = 'leaked' AND is_temporary"); n != 0 {
			t.Error("a temporary table leaked into another statement")
		}
	}
	unknown := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"no_such_setting": 1}))
	wantCode(t, c.Exec(unknown, "SELECT 1"), 115)
	if got := value(t.Context()); got != before {
		t.Errorf("after an unknown setting: %s, was %s", got, before)
	}
}

func TestErrorsCarryTheirCodes(t *testing.T) {
	s := start1(t, options(t))
	for name, method := range map[string]*clickhouse.Compression{
		"none": nil,
		"lz4":  {Method: clickhouse.CompressionLZ4},
		"zstd": {Method: clickhouse.CompressionZSTD},
		"gzip": {Method: clickhouse.CompressionGZIP, Level: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, s, func(o *clickhouse.Options) { o.Compression = method })
			wantCode(t, c.Exec(t.Context(), "SELECT * FROM nowhere"), 60)
			wantCode(t, c.Exec(t.Context(), "SELEKT"), 62)
			table := "checked_" + name
			mustExec(t, c, "CREATE TABLE "+table+" (id UInt64, CONSTRAINT small CHECK id < 10) ENGINE = MergeTree ORDER BY id")
			b, err := c.PrepareBatch(t.Context(), "INSERT INTO "+table)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Append(uint64(11)); err != nil {
				t.Fatal(err)
			}
			wantCode(t, b.Send(), 469)
			// After many blocks have been sent.
			rows, err := c.Query(t.Context(), "SELECT throwIf(number = 3000000, 'in the middle') FROM numbers(4000000)")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			wantCode(t, rows.Err(), 395)
			if n == 0 || !strings.Contains(fmt.Sprint(rows.Err()), "in the middle") {
				t.Errorf("after %d rows: %v", n, rows.Err())
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	c := connect(t, start1(t, options(t)), nil)
	mustExec(t, c, "CREATE TABLE ro (n UInt8) ENGINE = MergeTree ORDER BY n")
	for range 3 {
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"readonly": 1, "max_threads": 3}))
		if err := c.Exec(ctx, "SELECT count() FROM ro"); err != nil {
			t.Error(err)
		}
		for _, sql := range []string{"INSERT INTO ro VALUES (1)", "CREATE TABLE x (n UInt8) ENGINE = Memory", "SELECT * FROM file('/etc/hostname', 'LineAsString')"} {
			wantCode(t, c.Exec(ctx, sql), 164)
		}
		mustExec(t, c, "INSERT INTO ro VALUES (1)") // the next statement is free again
	}
}

func TestFilesAreTheClients(t *testing.T) {
	c := connect(t, start1(t, options(t)), nil)
	mustExec(t, c, "CREATE TABLE files (s String) ENGINE = MergeTree ORDER BY s")
	out := t.TempDir() + "/out"
	for _, sql := range []string{
		"SELECT 1 INTO OUTFILE '" + out + "'",
		"SELECT 1 into /* x */ outfile '" + out + "' FORMAT CSV",
		"INSERT INTO files FROM INFILE '/etc/hostname' FORMAT LineAsString",
	} {
		wantCode(t, c.Exec(t.Context(), sql), codeNotImplemented)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
	mustExec(t, c, "SELECT 'INTO OUTFILE'")
}

func TestLimitsOfTheServer(t *testing.T) {
	o := options(t)
	o.MaxMemory = 400 << 20
	c := connect(t, start1(t, o), nil)
	for name, want := range map[string]string{"max_server_memory_usage": fmt.Sprint(756 << 20), "mark_cache_size": fmt.Sprint(64 << 20)} {
		var got string
		if err := c.QueryRow(t.Context(), "SELECT value FROM system.server_settings WHERE name = ?", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", name, got, err, want)
		}
	}
	// Logs of the engine's own would grow without bound.
	if n := count(t, c, "SELECT count() FROM system.tables WHERE endsWith(name, '_log')"); n != 0 {
		t.Errorf("the engine keeps %d logs in tables", n)
	}
}
