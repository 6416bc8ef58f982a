package chdb

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func TestRoundTripInEveryCompression(t *testing.T) {
	s := start1(t, options(t))
	for name, method := range map[string]*clickhouse.Compression{
		"none": nil,
		"lz4":  {Method: clickhouse.CompressionLZ4},
		"zstd": {Method: clickhouse.CompressionZSTD},
		"gzip": {Method: clickhouse.CompressionGZIP, Level: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, s, func(o *clickhouse.Options) { o.Compression = method })
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustExec(t, c, "CREATE TABLE rt_"+name+" (a UInt64, s String) ENGINE = MergeTree ORDER BY a")
			b, err := c.PrepareBatch(t.Context(), "INSERT INTO rt_"+name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(200_000) {
				if err := b.Append(i, "row\n\x00'\\"); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Send(); err != nil {
				t.Fatal(err)
			}
			if n := count(t, c, "SELECT sum(a) FROM rt_"+name+" WHERE s = 'row\\n\\0\\'\\\\'"); n != 200_000*199_999/2 {
				t.Errorf("sum = %d", n)
			}
			rows, err := c.Query(t.Context(), "SELECT a, s FROM rt_"+name+" ORDER BY a")
			if err != nil {
				t.Fatal(err)
			}
			var n, a uint64
			var text string
			for ; rows.Next(); n++ {
				if err := rows.Scan(&a, &text); err != nil || a != n || text != "row\n\x00'\\" {
					t.Fatalf("row %d = %d %q, %v", n, a, text, err)
				}
			}
			if err := rows.Err(); err != nil || n != 200_000 {
				t.Fatalf("%d rows, %v", n, err)
			}
		})
	}
}
