package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"tributary/schemas"
)

// csvCell is a cell as spreadsheets may open it: where one would take it for a
// formula, behind an apostrophe, which makes it a text. Numbers stay numbers.
func csvCell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if !strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) || text == "" || isNumber(text) {
		return text
	}
	return "'" + text
}

// csvCells are the cells of a row: exactly what is stored, unless formulas are
// escaped.
func (o *Output) csvCells(texts []string) []string {
	if !o.escape {
		return texts
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = csvCell(t)
	}
	return out
}

// isNumber tells whether a text is a number in decimals.
func isNumber(text string) bool {
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// NewEncoder returns an encoder of JSON that a terminal may show: in its texts,
// characters that terminals obey, and those that turn the direction of text, are
// escaped. What it says is the same.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(escaping{w})
	e.SetEscapeHTML(false)
	return e
}

// escaping escapes in JSON what is not clean: such characters stand in texts only.
// It is written to in whole values.
type escaping struct{ w io.Writer }

func (e escaping) Write(b []byte) (int, error) {
	text := string(b)
	if schemas.Clean(text) == text {
		return e.w.Write(b)
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\r' || schemas.Clean(string(r)) == string(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(e.w, out.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}
