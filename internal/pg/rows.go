package pg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// JSON is the text of rows for jsonb_to_recordset: how a statement takes many
// rows at once. NUL characters, which Postgres stores nowhere, become U+FFFD:
// messages of strange servers may hold them, and must not stop anything. It
// panics only on values that encoding/json refuses, which row structs do not
// hold.
func JSON(rows any) string {
	b, err := json.Marshal(rows)
	if err != nil {
		panic(fmt.Sprintf("rows that cannot be JSON: %v", err))
	}
	if bytes.Contains(b, []byte(`\u0000`)) {
		b = withoutNUL(b)
	}
	return string(b)
}

// withoutNUL replaces the escaped NULs of a JSON text in place; a backslash
// that is itself escaped begins none.
func withoutNUL(b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(b[i:], []byte(`\u0000`)) {
			copy(b[i:], `\ufffd`)
		}
		i++ // what is escaped
	}
	return b
}

// Text is a string that Postgres can store: what is no UTF-8 and NUL become
// U+FFFD, as in JSON.
func Text(s string) string {
	for i := range len(s) {
		if s[i] == 0 || s[i] >= utf8.RuneSelf {
			return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
		}
	}
	return s
}

// Value is what a column that may be NULL holds, and the zero value where it is NULL.
func Value[T any](column *T) (value T) {
	if column != nil {
		value = *column
	}
	return value
}
