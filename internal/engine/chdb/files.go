package chdb

import "strings"

// NamesAFile finds the clauses by which a ClickHouse client, and so the engine,
// writes a result to a file or inserts from one, even in read-only mode. A
// server refuses them.
//
// Text may hide a word in more ways than are worth knowing here: heredocs,
// nested comments, comments that begin with #, curly quotes, spaces of Unicode.
// So the words count wherever they stand, except between plain quotes in a
// statement that has nothing outside of its quotes but plain ASCII without
// comments.
func NamesAFile(text string) bool {
	if !hasFileWord(text) {
		return false
	}
	outside, plain := outsideQuotes(text)
	return !plain || hasFileWord(outside)
}

// hasFileWord also finds the words in longer ones: where words end is the
// engine's to know.
func hasFileWord(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "outfile") || strings.Contains(text, "infile")
}

// outsideQuotes is a statement without what stands between quotes; plain is
// false if it can't be said for sure what that is.
func outsideQuotes(text string) (outside string, plain bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			if i > 0 && isWord(text[i-1]) {
				return "", false // x'…' and b'…' know no backslashes
			}
			end := closingQuote(text, i)
			if end < 0 {
				return "", false
			}
			i = end
			b.WriteByte(' ')
		case c == '$', c == '#', c == '\\', c >= 0x7f, c < ' ' && c != '\t' && c != '\n' && c != '\r',
			strings.HasPrefix(text[i:], "--"), strings.HasPrefix(text[i:], "/*"):
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// closingQuote is where the quote at start is closed; -1 if nowhere. A doubled
// quote closes and opens again, which comes to the same.
func closingQuote(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[start]:
			return i
		}
	}
	return -1
}
