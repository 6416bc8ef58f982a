package xsdcheck

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"tributary/internal/xsdtree"
)

// maxValue is how much of a value of a document a message shows, in bytes.
const maxValue = 60

// builtinInWords says what a value of a built-in type of XML Schema must be.
func builtinInWords(base string) string {
	switch base {
	case "anySimpleType", "string", "normalizedString", "token":
		return "any text"
	case "boolean":
		return "true or false (or 1 or 0)"
	case "date":
		return "a date as YYYY-MM-DD"
	case "dateTime":
		return "a date and time as YYYY-MM-DDThh:mm:ss"
	case "time":
		return "a time as hh:mm:ss"
	case "gYear":
		return "a year as YYYY"
	case "gYearMonth":
		return "a month as YYYY-MM"
	case "gMonth":
		return "a month as --MM"
	case "gMonthDay":
		return "a day of the year as --MM-DD"
	case "gDay":
		return "a day of the month as ---DD"
	case "duration":
		return "a duration such as P1DT12H"
	case "decimal":
		return "a number such as 12.5, without exponent"
	case "double", "float":
		return "a number such as 12.5 or 1.25E1"
	case "integer", "long":
		return "a whole number"
	case "int":
		return "a whole number between -2147483648 and 2147483647"
	case "short":
		return "a whole number between -32768 and 32767"
	case "byte":
		return "a whole number between -128 and 127"
	case "nonNegativeInteger", "unsignedLong":
		return "a whole number, not below 0"
	case "positiveInteger":
		return "a whole number above 0"
	case "nonPositiveInteger":
		return "a whole number, not above 0"
	case "negativeInteger":
		return "a whole number below 0"
	case "unsignedInt":
		return "a whole number between 0 and 4294967295"
	case "unsignedShort":
		return "a whole number between 0 and 65535"
	case "unsignedByte":
		return "a whole number between 0 and 255"
	case "anyURI":
		return "an address (URI)"
	case "language":
		return "a language code such as en or en-GB"
	case "ID":
		return "a name that no other element of the document has as its ID"
	case "IDREF":
		return "the ID of an element of the document"
	case "Name":
		return "a name without spaces, which begins with a letter"
	case "NCName":
		return "a name without spaces and colons, which begins with a letter"
	case "NMTOKEN":
		return "letters, digits and . - _ : without spaces"
	case "QName":
		return "a name, perhaps with a prefix"
	case "base64Binary":
		return "data in base64"
	case "hexBinary":
		return "data in hexadecimal digits"
	}
	return "a value of the type " + base
}

// typeInWords says what a value of a type must be: "a date as YYYY-MM-DD". Of
// enumerations it says how many there are at most room bytes for.
func typeInWords(t xsdtree.Type, room int) string {
	if len(t.Enum) > 0 {
		if len(t.Enum) == 1 {
			return quoted(t.Enum[0])
		}
		return "one of " + quotedList(t.Enum, room)
	}
	if t.MaxLength == 0 {
		return "empty"
	}
	if len(t.Union) > 0 {
		var all []string
		for _, member := range t.Union[:min(len(t.Union), 5)] {
			all = append(all, typeInWords(member, room/len(t.Union)))
		}
		return strings.Join(all, ", or ")
	}
	words := builtinInWords(t.Base)
	if t.List {
		words = "a list, separated by spaces, of: " + words
	}
	var limits []string
	limit := func(format string, args ...any) { limits = append(limits, fmt.Sprintf(format, args...)) }
	unit := "characters"
	if t.List {
		unit = "items"
	}
	switch {
	case t.MaxLength > 0 && t.MinLength == t.MaxLength:
		limit("of %d %s", t.MaxLength, unit)
	case t.MaxLength > 0 && t.MinLength > 0:
		limit("of %d to %d %s", t.MinLength, t.MaxLength, unit)
	case t.MaxLength > 0:
		limit("of at most %d %s", t.MaxLength, unit)
	case t.MinLength > 0:
		limit("of at least %d %s", t.MinLength, unit)
	}
	for _, bound := range []struct{ words, value string }{
		{"not below", t.MinInclusive}, {"above", t.MinExclusive}, {"not above", t.MaxInclusive}, {"below", t.MaxExclusive},
	} {
		if bound.value != "" {
			limit("%s %s", bound.words, cut(bound.value, maxValue))
		}
	}
	if t.TotalDigits >= 0 {
		limit("with at most %d digits", t.TotalDigits)
	}
	if t.FractionDigits >= 0 {
		limit("with at most %d digits after the point", t.FractionDigits)
	}
	for _, pattern := range t.Patterns[:min(len(t.Patterns), 3)] {
		limit("that matches the pattern %s", cut(pattern, maxValue))
	}
	if len(limits) == 0 {
		return words
	}
	return words + ", " + strings.Join(limits, ", ")
}

var likeADate = regexp.MustCompile(`^\s*-?[0-9]{4,9}-[0-9]{2}-[0-9]{2}`)

// valueInWords says what is wrong with a value: of what, its text if it is
// known, and what it must be. detail is the validator's own words.
func valueInWords(of string, value *string, t *xsdtree.Type, detail string, room int) string {
	text := of
	if value != nil {
		text += " is " + quoted(*value)
		if *value == "" {
			text = of + " is empty"
		}
		text += "; it"
	}
	if t == nil {
		if value == nil {
			return of + " is not as it must be: " + detail
		}
		return strings.TrimSuffix(text, "; it") + ", which is not as it must be: " + detail
	}
	if value != nil && t.Base == "date" && likeADate.MatchString(*value) && len(t.Enum) == 0 {
		text = strings.TrimSuffix(text, "; it") + ", which is not a day of the calendar; it"
	}
	text += " must be " + typeInWords(*t, room)
	if value != nil {
		text += didYouMean(*value, t.Enum)
	}
	return text
}

// quoted puts a value of a document or a schema into quotes, shortened.
func quoted(value string) string { return `"` + cut(value, maxValue) + `"` }

// maxSorted is how many names or values are put in order for a message. Schemas
// may have tens of thousands, and documents hundreds of errors.
const maxSorted = 200

// quotedList lists values in the order of the alphabet, as far as there is room.
func quotedList(values []string, room int) string {
	sorted := slices.Sorted(slices.Values(values[:min(len(values), maxSorted)]))
	for i, value := range sorted {
		sorted[i] = quoted(value)
	}
	return list(sorted, len(values), room)
}

// alphabetical sorts names as people look them up: a before B.
func alphabetical(names []string) []string {
	return slices.SortedFunc(slices.Values(names[:min(len(names), maxSorted)]), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
}

// list joins items with commas, as far as there is room, and tells how many of
// all are left out. The first is always there.
func list(items []string, all, room int) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 && b.Len()+len(item)+2 > room {
			items = items[:i]
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item)
	}
	if all > len(items) {
		fmt.Fprintf(&b, " and %d more", all-len(items))
	}
	return b.String()
}

// didYouMean suggests the allowed name or value that is nearly what was given.
func didYouMean(given string, allowed []string) string {
	given = letters(given)
	if given == "" {
		return ""
	}
	best, least := "", 1+min(2, len(given)/4)
	// In alphabetical order, so that equal schemas suggest the same.
	for _, candidate := range slices.Sorted(slices.Values(allowed[:min(len(allowed), maxSorted)])) {
		other := letters(candidate)
		if d := distance(given, other, least); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + quoted(best) + "?)"
}

// letters leaves out of a name what people write this way or that.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\n', '_', '-':
			return -1
		}
		return unicode.ToLower(r)
	}, cut(name, maxValue))
}

// distance counts the bytes to insert, delete or replace to get from a to b; it
// gives up at enough.
func distance(a, b string, enough int) int {
	if len(a)-len(b) >= enough || len(b)-len(a) >= enough {
		return enough
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
