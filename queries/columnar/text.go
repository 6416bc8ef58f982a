package columnar

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/jackc/pgx/v5/pgtype"
)

// addText appends a value in the text form of Postgres to a column that holds no
// texts, and returns how many bytes it takes beyond those of a number.
func addText(b array.Builder, text string) (int, error) {
	switch b := b.(type) {
	case *array.Decimal128Builder:
		return 0, addDecimal(b, text)
	case *array.TimestampBuilder, *array.Date32Builder:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				return 0, addTime(b, t)
			}
		}
		return 0, fmt.Errorf("%.40q has no place in a column of %s", text, b.Type())
	case *array.BinaryBuilder:
		bytes, err := hex.DecodeString(strings.TrimPrefix(text, `\x`))
		if err != nil {
			return 0, fmt.Errorf("%.40q is no bytes in hexadecimal: %w", text, err)
		}
		b.Append(bytes)
		return len(bytes), nil
	case *array.ListBuilder:
		return addArray(b, text)
	}
	if err := b.AppendValueFromString(text); err != nil {
		return 0, fmt.Errorf("%.40q has no place in a column of %s: %w", text, b.Type(), err)
	}
	return 0, nil
}

// addDecimal appends a number exactly, or not at all.
func addDecimal(b *array.Decimal128Builder, text string) error {
	kind, ok := b.Type().(*arrow.Decimal128Type)
	if !ok {
		return fmt.Errorf("a decimal has no place in a column of %s", b.Type())
	}
	whole, fraction, _ := strings.Cut(text, ".")
	missing := int(kind.Scale) - len(fraction)
	if missing < 0 {
		return fmt.Errorf("%.60q has more decimals than %s", text, kind)
	}
	n, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", missing), 10)
	if !ok {
		return fmt.Errorf("%.60q has no place in a column of %s", text, kind)
	}
	if n.BitLen() > 127 {
		return fmt.Errorf("%.60q is greater than what %s holds", text, kind)
	}
	v := decimal128.FromBigInt(n)
	if !v.FitsInPrecision(kind.Precision) {
		return fmt.Errorf("%.60q is greater than what %s holds", text, kind)
	}
	b.Append(v)
	return nil
}

// addArray appends an array of Postgres, if it has one dimension.
func addArray(b *array.ListBuilder, text string) (size int, err error) {
	var parts pgtype.Array[*string]
	if err := pgtype.NewMap().Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, []byte(text), &parts); err != nil {
		return 0, fmt.Errorf("%.40q is no array: %w", text, err)
	}
	if len(parts.Dims) > 1 {
		return 0, fmt.Errorf("an array of %d dimensions has no place in a list", len(parts.Dims))
	}
	b.Append(true)
	for _, part := range parts.Elements {
		var value any
		if part != nil {
			value = *part
		}
		n, err := add(b.ValueBuilder(), value)
		if err != nil {
			return 0, err
		}
		size += n + perElement
	}
	return size, nil
}
