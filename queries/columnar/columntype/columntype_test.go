package columntype_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"tributary/queries/columnar/columntype"
)

// Types are those that readers of columns know, or texts, which hold everything.
func TestTypes(t *testing.T) {
	for name, want := range map[string]string{
		"Bool": "bool", "UInt64": "uint64", "Int128": "utf8", "Float32": "float32", "String": "utf8", "FixedString(2)": "utf8", "UUID": "utf8", "Date32": "date32",
		"DateTime": "timestamp[us, tz=UTC]", "DateTime('Europe/Berlin')": "timestamp[us, tz=UTC]", "DateTime64(3)": "timestamp[us, tz=UTC]", "DateTime64(9, 'UTC')": "timestamp[ns, tz=UTC]",
		"Decimal(18, 4)": "decimal(18, 4)", "Decimal(76, 4)": "utf8", "Nullable(Int8)": "int8", "LowCardinality(Nullable(String))": "utf8", "Array(Array(UInt8))": "list<item: list<item: uint8, nullable>, nullable>",
		"Map(String, Array(Int64))": "map<utf8, list<item: int64, nullable>, items_nullable>", "Tuple(UInt8, String)": "utf8", "SimpleAggregateFunction(max, DateTime64(6))": "timestamp[us, tz=UTC]",
		"Enum8('a(b' = 1, 'c,d' = 2)": "utf8", "Nothing": "utf8", "": "utf8", "Array(": "list<item: utf8, nullable>", "Decimal()": "utf8", "DateTime64()": "timestamp[us, tz=UTC]",
	} {
		if got := columntype.ClickHouse(name).String(); got != want {
			t.Errorf("ClickHouse's %s is %s, want %s", name, got, want)
		}
	}
	modifier := func(precision, scale int32) int32 { return precision<<16 | scale&0x7ff + 4 }
	for about, tc := range map[string]struct {
		oid      uint32
		modifier int32
		want     string
	}{
		"bool": {pgtype.BoolOID, -1, "bool"}, "oid": {pgtype.OIDOID, -1, "uint32"}, "bytea": {pgtype.ByteaOID, -1, "binary"}, "timestamp": {pgtype.TimestampOID, -1, "timestamp[us]"},
		"numeric": {pgtype.NumericOID, -1, "utf8"}, "numeric(38,2)": {pgtype.NumericOID, modifier(38, 2), "decimal(38, 2)"}, "numeric(39,2)": {pgtype.NumericOID, modifier(39, 2), "utf8"},
		"numeric(3,-2)": {pgtype.NumericOID, modifier(3, -2), "utf8"}, "numeric(2,5)": {pgtype.NumericOID, modifier(2, 5), "utf8"}, "numeric(4,2)[]": {1231, modifier(4, 2), "list<item: decimal(4, 2), nullable>"},
		"text[]": {pgtype.TextArrayOID, -1, "list<item: utf8, nullable>"}, "jsonb": {pgtype.JSONBOID, -1, "utf8"}, "one that nobody knows": {999_999, -1, "utf8"},
	} {
		if got := columntype.Postgres(tc.oid, tc.modifier).String(); got != tc.want {
			t.Errorf("Postgres' %s is %s, want %s", about, got, tc.want)
		}
	}
}
