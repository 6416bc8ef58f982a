package replay

import (
	"errors"
	"fmt"
	"strings"
)

// maxPredicate bounds a predicate, in bytes.
const maxPredicate = 64 << 10

// checkPredicate refuses what is not one condition by itself: it is put between
// brackets, and must not get out of them. What it says is left to Postgres,
// which is asked for reading only.
func checkPredicate(p string) error {
	switch {
	case strings.TrimSpace(p) == "":
		return errors.New("the condition is empty: true means all files")
	case strings.ContainsRune(p, 0):
		return errors.New("the condition has a zero byte")
	case len(p) > maxPredicate:
		return fmt.Errorf("the condition has %d bytes; at most %d are taken", len(p), maxPredicate)
	}
	depth := 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\'' || c == '"':
			if c == '\'' && escapes(p[:i]) {
				return errors.New(`texts with escapes (E'…') are not taken in a condition: write them plainly`)
			}
			end := closing(p, i)
			if end < 0 {
				return fmt.Errorf("the condition has a %c that is not closed", c)
			}
			i = end
		case c == ';':
			return errors.New("the condition has a semicolon: it must be one condition, not a statement")
		case strings.HasPrefix(p[i:], "--") || strings.HasPrefix(p[i:], "/*"):
			return errors.New("the condition has a comment: leave it out")
		case c == '$':
			return errors.New("the condition has a $: write texts between single quotes")
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return errors.New("the condition closes a bracket that it has not opened")
			}
		}
	}
	if depth > 0 {
		return errors.New("the condition has a bracket that is not closed")
	}
	return nil
}

// escapes tells whether a text that follows is one in which a backslash takes
// the next character's meaning away.
func escapes(before string) bool {
	n := len(before)
	return n > 0 && (before[n-1] == 'e' || before[n-1] == 'E') && (n == 1 || !wordly(before[n-2]))
}

func wordly(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// closing is where the quote at i is closed; -1 if nowhere. A doubled one is
// part of the text.
func closing(p string, i int) int {
	quote := p[i]
	for j := i + 1; j < len(p); j++ {
		if p[j] != quote {
			continue
		}
		if j+1 < len(p) && p[j+1] == quote {
			j++
			continue
		}
		return j
	}
	return -1
}
