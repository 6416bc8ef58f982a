package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean returns a text of others as any store and any terminal takes it: valid
// UTF-8 without control characters, line and paragraph separators, and marks that
// nobody sees or that turn the direction of text; U+FFFD stands in their place.
// Tabs and line feeds stay, and the two joiners that some scripts need; a carriage
// return becomes a blank. What is clean is returned as it is.
func Clean(text string) string {
	if clean(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return ' '
		case unwelcome(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// clean tells whether Clean would change nothing.
func clean(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c < ' ' && c != '\t' && c != '\n' || c == 0x7f {
			return false
		}
		if c >= utf8.RuneSelf {
			return utf8.ValidString(text[i:]) && !strings.ContainsFunc(text[i:], unwelcome)
		}
	}
	return true
}

// unwelcome tells which characters Clean takes away.
func unwelcome(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == '\u200c' || r == '\u200d': // the joiners
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// CleanBody cleans all texts of an event's body, a pointer to its Go type, and
// cuts those that have a limit: what people read says how long it was, and what
// names something ends with its hash, so that different names stay different. Its
// moments become the nearest that every store and JSON can hold.
// DecodeBody has done so already; what an older program stored may need it.
func CleanBody(body any) {
	cleanValue(reflect.ValueOf(body).Elem())
	if s, ok := body.(*StatusChanged); ok && len(s.Errors) > 0 {
		kept := trimmedErrors(s.Errors)
		if len(kept) < len(s.Errors) {
			s.ErrorsTotal = max(s.ErrorsTotal, int32(len(s.Errors)))
		}
		s.Errors = kept
	}
}

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.String {
				cleanField(f, v.Type(), i)
			} else {
				cleanValue(f)
			}
		}
	case reflect.Slice: // of structs
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Map:
		if all, ok := v.Interface().(map[string]string); ok {
			v.Set(reflect.ValueOf(cleanAttributes(all)))
		}
	case reflect.Pointer: // to a moment
		if at, ok := v.Interface().(*time.Time); ok && at != nil {
			*at = within(*at)
		}
	}
}

// The first second of the year 1, and the first after the year 9999.
const (
	leastSecond = -62135596800
	mostSecond  = 253402300800
)

// within is the moment, or the nearest of the years 1 to 9999: an event can hold 292,277
// years before and after, JSON none of more than four digits.
func within(at time.Time) time.Time {
	switch s := at.Unix(); {
	case s < leastSecond:
		return time.Unix(leastSecond, 0).UTC()
	case s >= mostSecond:
		return time.Unix(mostSecond-1, 0).UTC()
	}
	return at
}

// cleanField cleans a field that is a text. Nearly all are clean and short.
func cleanField(f reflect.Value, of reflect.Type, index int) {
	text := f.String()
	if len(text) <= maxWord && clean(text) {
		return
	}
	switch of.Field(index).Name {
	case "Message":
		f.SetString(cleanText(text, maxMessage))
	case "Path": // an action, and a name that may itself be as long as a word
		f.SetString(bounded(text, 2*maxWord))
	default:
		f.SetString(cleanWord(text))
	}
}

// cleanText returns what people read, of at most so many bytes.
func cleanText(text string, limit int) string {
	if len(text) <= limit {
		return Cut(Clean(text), limit)
	}
	end := fmt.Sprintf("… (%d bytes)", len(text))
	return prefix(Clean(text[:limit]), limit-len(end)) + end
}

// cleanWord returns what names something, of at most maxWord bytes.
func cleanWord(text string) string { return bounded(text, maxWord) }

// bounded returns a clean text of at most so many bytes: of a longer one the
// beginning and the hash of all of it.
func bounded(text string, limit int) string {
	// Cleaning can make a text longer, so one that came short enough may be cut too.
	c := Clean(text[:min(len(text), limit)])
	if len(text) <= limit && len(c) <= limit {
		return c
	}
	sum := sha256.Sum256([]byte(text))
	end := "~" + hex.EncodeToString(sum[:])
	return prefix(c, limit-len(end)) + end
}

// prefix is the beginning of a text, of whole characters.
func prefix(text string, limit int) string {
	n := min(len(text), limit)
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// maxAttribute is how long the text of an attribute is kept, in bytes: that of a
// replay is the question by which it was chosen, which may be as long.
const maxAttribute = 64 << 10

// cleanAttributes cleans words and what is said of them. Of words that become the same the one
// that sorts first counts, whatever order a map has.
func cleanAttributes(all map[string]string) map[string]string {
	same := true
	for word, text := range all {
		same = same && len(word) <= maxWord && len(text) <= maxAttribute && clean(word) && clean(text)
	}
	if same {
		return all
	}
	kept := make(map[string]string, len(all))
	for _, word := range slices.Sorted(maps.Keys(all)) {
		w := cleanWord(word)
		if _, taken := kept[w]; !taken {
			kept[w] = cleanText(all[word], maxAttribute)
		}
	}
	return kept
}

// cleanID returns an event's id as it came, or, where that is no clean text, the
// one that follows from it, so that different ids stay different.
func cleanID(id string) string {
	if len(id) <= maxWord && clean(id) {
		return id
	}
	return ID("event_id", id)
}
