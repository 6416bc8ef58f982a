package xsdcheck

import (
	"strings"
	"testing"
)

func TestRule(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		{`/a/b: the element x is not allowed here; allowed: y, or the end of b`, "in the order and as often as it says."},
		{`/a/b: the element x is not allowed here (did you mean "X"?); allowed: X`, "capital and small letters included"},
		{`/a/b: the element x is not allowed here: it is in no namespace, and must be in the namespace urn:t`, "A name counts together with its namespace"},
		{`/a/b: the element x is not allowed here: b may not contain any element`, "no element inside it"},
		{`/a/b: the element x is not allowed here: b must be empty`, "contains only the elements"},
		{`/a/b: the element {urn:t}x is not allowed here`, "contains only the elements"},
		{`/a/b: the element x is missing after y`, "Some elements must be there"},
		{`/a/b: an element is missing; allowed there: x, y`, "Some elements must be there"},
		{`/a/b: a required element is missing at its end`, "Some elements must be there"},
		{`/a/b: the attribute x is not allowed; it may not have any`, "only the attributes that the schema names"},
		{`/a/b: the attribute X is not allowed (did you mean "x"?); allowed: x`, "spelt as in the schema"},
		{`/a/b: the attribute x is missing; it must be a date as YYYY-MM-DD`, "Some attributes must be there"},
		{`/a/b: it may not have attributes, but has x`, "no attributes"},
		{`/a/b: it contains the element x, but must be empty`, "nothing between its tags"},
		{`/a/b: it contains the element x, but may contain only text: a date as YYYY-MM-DD`, "text between its tags"},
		{`/a/b: the text "it must be a date" is not allowed here; nothing may follow x`, "no text"},
		{`/a/b: text is not allowed here`, "no text"},
		{`/a/b: the attribute x is "Wild"; it must be one of "a date", "wild" (did you mean "wild"?)`, "Only values of this list"},
		{`/a/b: the attribute x is "y"; it must be "z"`, "Only this one value"},
		{`/a/b: the attribute x is "one of must be a whole number"; it must be a date as YYYY-MM-DD`, "A date is written year first"},
		{`/a/b: the attribute x is "2019-02-29", which is not a day of the calendar; it must be a date as YYYY-MM-DD`, "a day of the calendar"},
		{`/a/b: the attribute x is empty; it must be true or false (or 1 or 0)`, "can't be left empty"},
		{`/a/b: the text is "1,5"; it must be a number such as 12.5, without exponent`, "no comma, no unit"},
		{`/a/b: the text is "1.5"; it must be a whole number above 0, with at most 3 digits`, "without point, comma or unit"},
		{`/a/b: the text is "x"; it must be empty`, "nothing between its tags"},
		{`/a/b: the text is "x"; it must be a value of the type t`, "as the type says"},
		{`/a/b: the text is "x", which is not as it must be: bad lexical form`, "as the type says"},
		{`/a/b: the attribute x must be a list, separated by spaces, of: any text`, "without commas"},
		{`/a: the root element is a; it must be b in the namespace urn:t`, "the element of its kind"},
		{`/a: element {urn:a}a is not declared by the schema for this kind of document (what xsi:schemaLocation names is never loaded)`, "the element of its kind"},
		{`/a/b: xsi:nil is not allowed on it`, "xsi:nil"},
		{`/a/b: xsi:type names foo, which the schema doesn't have`, "xsi:type"},
		{`/a/b: its key is there already, at 3:4`, "once only"},
		{`/a/b: the ID x is there already, at 3:4`, "once only"},
		{`/a/b: no element of the document has the ID "x"`, "in the same document"},
		{`something else altogether`, ""},
		{``, ""},
		{`/`, ""},
	} {
		got := Rule(test.message)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s\nis explained by %q, want %q", test.message, got, test.want)
		}
	}
}
