// Package screen shows people texts of others: no character reaches a terminal
// that the terminal would obey, that nobody sees, or that turns the direction of
// what stands beside it. Such characters are shown escaped.
package screen

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"tributary/schemas"
)

// Text is a text as a terminal may show it, on as many lines as it has: control
// characters, line and paragraph separators, marks of direction and other
// invisible ones stand there as Go would write them (\x1b, \u202e), and so do
// bytes that are no UTF-8. Tabs and line feeds stay, and the two joiners that some
// scripts need. Text of a Text is the same text.
func Text(text string) string {
	if schemas.Clean(text) == text {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		part := text[:size]
		text = text[size:]
		if r == utf8.RuneError && size == 1 || schemas.Clean(part) != part {
			quoted := strconv.QuoteToASCII(part)
			part = quoted[1 : len(quoted)-1]
		}
		b.WriteString(part)
	}
	return b.String()
}

// Line is Text on one line: a blank stands for each tab and line end.
func Line(text string) string {
	return Text(strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", " ")))
}
