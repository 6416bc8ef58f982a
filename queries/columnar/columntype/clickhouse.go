package columntype

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// ofClickHouse are the types without arguments whose values are not written as texts.
func ofClickHouse() map[string]arrow.DataType {
	return map[string]arrow.DataType{
		"Bool": arrow.FixedWidthTypes.Boolean,
		"Int8": arrow.PrimitiveTypes.Int8, "Int16": arrow.PrimitiveTypes.Int16, "Int32": arrow.PrimitiveTypes.Int32, "Int64": arrow.PrimitiveTypes.Int64,
		"UInt8": arrow.PrimitiveTypes.Uint8, "UInt16": arrow.PrimitiveTypes.Uint16, "UInt32": arrow.PrimitiveTypes.Uint32, "UInt64": arrow.PrimitiveTypes.Uint64,
		"Float32": arrow.PrimitiveTypes.Float32, "Float64": arrow.PrimitiveTypes.Float64,
		"Date": arrow.FixedWidthTypes.Date32, "Date32": arrow.FixedWidthTypes.Date32, "DateTime": arrow.FixedWidthTypes.Timestamp_us,
	}
}

// ClickHouse is the type of a column for a type of ClickHouse, as it spells it.
func ClickHouse(name string) arrow.DataType {
	if t, ok := ofClickHouse()[name]; ok {
		return t
	}
	outer, inner, ok := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	if !ok {
		return arrow.BinaryTypes.String
	}
	args := arguments(inner)
	switch {
	case outer == "Nullable" || outer == "LowCardinality":
		return ClickHouse(inner)
	case outer == "SimpleAggregateFunction" && len(args) == 2:
		return ClickHouse(args[1])
	case outer == "Array":
		return arrow.ListOf(ClickHouse(inner))
	case outer == "Map" && len(args) == 2:
		return arrow.MapOf(ClickHouse(args[0]), ClickHouse(args[1]))
	case outer == "DateTime":
		return arrow.FixedWidthTypes.Timestamp_us
	case outer == "DateTime64":
		if digits, err := strconv.Atoi(args[0]); err == nil && digits > 6 {
			return arrow.FixedWidthTypes.Timestamp_ns
		}
		return arrow.FixedWidthTypes.Timestamp_us
	case outer == "Decimal" && len(args) == 2:
		precision, perr := strconv.ParseInt(args[0], 10, 32)
		scale, serr := strconv.ParseInt(args[1], 10, 32)
		if perr == nil && serr == nil && precision <= maxDigits {
			return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}
		}
	}
	return arrow.BinaryTypes.String
}

// arguments are the arguments of a type, which may be types with arguments.
func arguments(text string) (out []string) {
	depth, begin := 0, 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(text[begin:i]))
				begin = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(text[begin:]))
}
