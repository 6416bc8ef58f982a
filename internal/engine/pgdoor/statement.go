package pgdoor

import (
	"bytes"
	"regexp"
)

// denied is what Postgres is asked instead of a statement that is refused. It
// answers as it does to whoever may not do something, in the right place of the
// conversation.
const denied = "SELECT pg_catalog.pg_notify('', '')"

// judged is the body of a client's message as Postgres gets it.
func judged(kind byte, body []byte) []byte {
	switch kind {
	case 'Q':
		text, rest, found := bytes.Cut(body, []byte{0})
		if found && unbounded(text) {
			return append(append([]byte(denied), 0), rest...)
		}
	case 'P':
		name, rest, found := bytes.Cut(body, []byte{0})
		text, types, ended := bytes.Cut(rest, []byte{0})
		if found && ended && unbounded(text) {
			b := append(append([]byte(nil), name...), 0)
			return append(append(append(b, denied...), 0), types...)
		}
	}
	return body
}

// unruled finds the commands that a role may give whatever its rights are: signals,
// which Tributary uses itself, and changes of the role itself, its password among
// them, by which one reader would shut out all.
var unruled = regexp.MustCompile(`(?i)\b(notify|listen|alter|grant|revoke)\b`)

// unbounded says whether a text may have a command in it that no right bounds.
// Those stand at the beginning of a statement only, so before them are, besides
// blanks, a semicolon, the end of a comment, or nothing. Quotes are not looked at:
// what stands between them after a semicolon is refused as well.
func unbounded(text []byte) bool {
	for _, at := range unruled.FindAllIndex(text, -1) {
		before := bytes.TrimRight(text[:at[0]], " \t\r\n\f\v")
		line := before[bytes.LastIndexAny(before, "\r\n")+1:]
		if len(before) == 0 || bytes.HasSuffix(before, []byte(";")) || bytes.HasSuffix(before, []byte("*/")) || bytes.Contains(line, []byte("--")) {
			return true
		}
	}
	return false
}
