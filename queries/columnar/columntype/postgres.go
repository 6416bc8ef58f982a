// Package columntype says of which type of Arrow a column of a database is, for files of
// columns and for those who ask which columns are numbers. It is apart from what writes such
// files, which is much to link.
package columntype

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgtype"
)

// maxDigits is the most digits that a decimal of 128 bits holds.
const maxDigits = 38

// ofPostgres are the types whose values are not written as texts.
func ofPostgres() map[uint32]arrow.DataType {
	return map[uint32]arrow.DataType{
		pgtype.BoolOID: arrow.FixedWidthTypes.Boolean,
		pgtype.Int2OID: arrow.PrimitiveTypes.Int16, pgtype.Int4OID: arrow.PrimitiveTypes.Int32, pgtype.Int8OID: arrow.PrimitiveTypes.Int64,
		pgtype.OIDOID:    arrow.PrimitiveTypes.Uint32,
		pgtype.Float4OID: arrow.PrimitiveTypes.Float32, pgtype.Float8OID: arrow.PrimitiveTypes.Float64,
		pgtype.ByteaOID: arrow.BinaryTypes.Binary,
		pgtype.DateOID:  arrow.FixedWidthTypes.Date32, pgtype.TimeOID: arrow.FixedWidthTypes.Time64us,
		pgtype.TimestampOID: &arrow.TimestampType{Unit: arrow.Microsecond}, pgtype.TimestamptzOID: arrow.FixedWidthTypes.Timestamp_us,
	}
}

// Postgres is the type of a column for a type of Postgres with its modifier, as
// the server describes the columns of an answer.
func Postgres(oid uint32, modifier int32) arrow.DataType {
	if oid == pgtype.NumericOID {
		return numeric(modifier)
	}
	if t, ok := ofPostgres()[oid]; ok {
		return t
	}
	if t, ok := pgtype.NewMap().TypeForOID(oid); ok {
		if list, ok := t.Codec.(*pgtype.ArrayCodec); ok {
			return arrow.ListOf(Postgres(list.ElementType.OID, modifier))
		}
	}
	return arrow.BinaryTypes.String
}

// numeric is a decimal where the column says how many digits there are: a text
// elsewhere, which holds every number as it is.
func numeric(modifier int32) arrow.DataType {
	if modifier < 4 {
		return arrow.BinaryTypes.String
	}
	precision, scale := (modifier-4)>>16&0xffff, (modifier-4)&0x7ff
	if scale >= 1024 || scale > precision || precision > maxDigits { // from 1024 on it stands for a negative one
		return arrow.BinaryTypes.String
	}
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}
