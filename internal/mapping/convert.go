package mapping

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// converter turns an XML lexical form into what Postgres reads, appended to
// dst; it returns what was expected when it can't.
type converter func(dst, text []byte) (out []byte, expected string)

// typeNames are the types that a column can have.
const typeNames = "text, text[], bigint, boolean, date, zone, double and numeric"

// SQLType is the column's type in Postgres.
func (c *Column) SQLType() string {
	switch c.Type {
	case "zone":
		return "text"
	case "double":
		return "double precision"
	}
	return c.Type
}

func converterOf(typ string) (converter, bool) {
	switch typ {
	case "text", "text[]", "zone": // of a zone, only the zone is converted
		return func(dst, text []byte) ([]byte, string) { return append(dst, text...), "" }, true
	case "bigint":
		return toBigint, true
	case "boolean":
		return toBoolean, true
	case "date":
		return toDate, true
	case "double":
		return toDouble, true
	case "numeric":
		return toNumeric, true
	}
	return nil, false
}

func collapse(text []byte) string { return string(bytes.Trim(text, " \t\r\n")) }

func toBigint(dst, text []byte) ([]byte, string) {
	n, err := strconv.ParseInt(strings.TrimPrefix(collapse(text), "+"), 10, 64)
	if err != nil {
		return dst, "a whole number of at most 18 digits"
	}
	return strconv.AppendInt(dst, n, 10), ""
}

func toBoolean(dst, text []byte) ([]byte, string) {
	switch collapse(text) {
	case "true", "1":
		return append(dst, 't'), ""
	case "false", "0":
		return append(dst, 'f'), ""
	}
	return dst, "true or false"
}

// toDate takes a date with or without a time zone, which names the day there.
func toDate(dst, text []byte) ([]byte, string) {
	const expected = "a date between the years 1 and 9999"
	day := bytes.Trim(text, " \t\r\n")
	if len(day) > 10 {
		if len(zoneOf(day)) != len(day)-10 {
			return dst, expected
		}
		day = day[:10]
	}
	var t time.Time
	var err error
	if t, err = time.Parse(time.DateOnly, string(day)); err != nil || t.Year() < 1 {
		return dst, expected
	}
	return append(dst, day...), ""
}

// zoneOf returns the time zone of a date's lexical form: Z, an offset such as
// +01:00, or nothing.
func zoneOf(text []byte) []byte {
	s := bytes.Trim(text, " \t\r\n")
	if n := len(s); n > 0 && s[n-1] == 'Z' {
		return s[n-1:]
	}
	if len(s) < 6 {
		return nil
	}
	z := s[len(s)-6:]
	digit := func(i int) bool { return z[i] >= '0' && z[i] <= '9' }
	if (z[0] == '+' || z[0] == '-') && z[3] == ':' && digit(1) && digit(2) && digit(4) && digit(5) {
		return z
	}
	return nil
}

func toDouble(dst, text []byte) ([]byte, string) {
	s := collapse(text)
	switch s {
	case "INF":
		return append(dst, "Infinity"...), ""
	case "-INF":
		return append(dst, "-Infinity"...), ""
	case "NaN":
		return append(dst, s...), ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return dst, "a number that a double can hold"
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64), ""
}

// toNumeric writes a decimal as Postgres shows it: its digits after the point
// are kept.
func toNumeric(dst, text []byte) ([]byte, string) {
	const expected = "a decimal number of at most 1000 digits"
	s := bytes.Trim(text, " \t\r\n")
	if len(s) > 1000 {
		return dst, expected
	}
	negative := len(s) > 0 && s[0] == '-'
	if negative || len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	whole, part, point := bytes.Cut(s, []byte{'.'})
	if len(whole)+len(part) == 0 || !digits(whole) || !digits(part) {
		return dst, expected
	}
	whole = bytes.TrimLeft(whole, "0")
	if negative && len(whole)+len(bytes.Trim(part, "0")) > 0 {
		dst = append(dst, '-')
	}
	if len(whole) == 0 {
		whole = []byte{'0'}
	}
	dst = append(dst, whole...)
	if point && len(part) > 0 {
		dst = append(append(dst, '.'), part...)
	}
	return dst, ""
}

func digits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// escape appends text as a field of COPY's text format.
func escape(dst, text []byte) []byte {
	done := 0
	for i, c := range text {
		if c != '\\' && c > '\r' {
			continue
		}
		var letter byte
		switch c {
		case '\t':
			letter = 't'
		case '\n':
			letter = 'n'
		case '\r':
			letter = 'r'
		case '\\':
			letter = '\\'
		default:
			continue
		}
		dst = append(append(dst, text[done:i]...), '\\', letter)
		done = i + 1
	}
	return append(dst, text[done:]...)
}

// arrayElement appends a quoted element of an array's text form.
func arrayElement(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
