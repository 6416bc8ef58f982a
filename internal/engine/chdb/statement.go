package chdb

import (
	"bytes"
	"strings"
)

// streamable says whether the engine can stream what a read-only statement
// gives: that is so for queries only, and the rest gives little.
func streamable(text string) bool {
	s := scanner{text: []byte(text)}
	switch strings.ToUpper(s.next()) {
	case "DESCRIBE", "DESC", "SHOW", "EXISTS", "EXPLAIN", "CHECK":
		return false
	}
	return true
}

// insertParts is an INSERT statement taken apart: clickhouse-go and people send
// "INSERT INTO t (a, b) FORMAT Native" with the data after it, and the engine
// wants the statement without the FORMAT clause, and the data apart.
type insertParts struct {
	head   string // without the FORMAT clause
	format string
	data   []byte // what followed in the same text
}

// splitInsert takes an INSERT with a FORMAT clause apart; ok is false for any
// other statement, also for INSERT with VALUES or SELECT. It looks only at
// words outside of quotes, comments and parentheses.
func splitInsert(text []byte) (parts insertParts, ok bool) {
	s := scanner{text: text}
	if !strings.EqualFold(s.next(), "INSERT") {
		return insertParts{}, false
	}
	for {
		word := s.next()
		switch strings.ToUpper(word) {
		case "", "VALUES", "SELECT", "WITH", "WATCH", "FROM":
			return insertParts{}, false
		case "FORMAT":
			head := strings.TrimSpace(string(text[:s.start]))
			format := s.next()
			if format == "" || strings.EqualFold(format, "VALUES") {
				return insertParts{}, false
			}
			return insertParts{head: head, format: format, data: afterFormat(text[s.pos:])}, true
		}
	}
}

// afterFormat skips what may stand between a format's name and its data: blanks
// up to and including one line end.
func afterFormat(rest []byte) []byte {
	trimmed := bytes.TrimLeft(rest, " \t;")
	trimmed = bytes.TrimPrefix(trimmed, []byte("\r"))
	return bytes.TrimPrefix(trimmed, []byte("\n"))
}

// scanner finds the words of a statement.
type scanner struct {
	text       []byte
	start, pos int // of the last word
}

// next returns the next word outside of quotes, comments and parentheses, or
// "" at the end.
func (s *scanner) next() string {
	depth := 0
	for s.pos < len(s.text) {
		switch b := s.text[s.pos]; {
		case b == '\'' || b == '"' || b == '`':
			s.quoted(b)
		case b == '(':
			depth++
			s.pos++
		case b == ')':
			depth--
			s.pos++
		case bytes.HasPrefix(s.text[s.pos:], []byte("--")):
			s.skipPast("\n")
		case bytes.HasPrefix(s.text[s.pos:], []byte("/*")):
			s.skipPast("*/")
		case isWord(b):
			s.start = s.pos
			for s.pos < len(s.text) && isWord(s.text[s.pos]) {
				s.pos++
			}
			if depth <= 0 {
				return string(s.text[s.start:s.pos])
			}
		default:
			s.pos++
		}
	}
	return ""
}

func (s *scanner) quoted(quote byte) {
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case quote:
			s.pos++
			return
		}
	}
}

func (s *scanner) skipPast(end string) {
	i := bytes.Index(s.text[s.pos:], []byte(end))
	if i < 0 {
		s.pos = len(s.text)
		return
	}
	s.pos += i + len(end)
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
