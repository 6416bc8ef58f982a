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

func converterOf(typ string) (converter, bool) {
	switch typ {
	case "text", "text[]":
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
	s := collapse(text)
	day := s
	if len(day) > 10 {
		day = day[:10]
		if zone := s[10:]; zone != "Z" && (len(zone) != 6 || zone[3] != ':') {
			return dst, "a date between the years 1 and 9999"
		}
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil || t.Year() < 1 {
		return dst, "a date between the years 1 and 9999"
	}
	return append(dst, day...), ""
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

func toNumeric(dst, text []byte) ([]byte, string) {
	s := collapse(text)
	digits := strings.TrimLeft(s, "+-")
	if len(s) > 1000 || len(s)-len(digits) > 1 || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 || strings.Trim(digits, ".") == "" {
		return dst, "a decimal number of at most 1000 digits"
	}
	return append(dst, s...), ""
}

// escape appends text as a field of COPY's text format.
func escape(dst, text []byte) []byte {
	for {
		i := bytes.IndexAny(text, "\\\t\n\r")
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		switch text[i] {
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', '\\')
		}
		text = text[i+1:]
	}
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
