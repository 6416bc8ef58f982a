package xsdcheck

import (
	"regexp"
	"strings"
)

// Rule says in plain words which rule of schemas a document breaks, by the message of
// what is Invalid: what holds for every document, where the message says what is wrong
// in this one. It is empty for messages of others, and of what has no such rule.
func Rule(message string) string {
	text := message
	if strings.HasPrefix(message, "/") {
		_, text, _ = strings.Cut(message, ": ")
	}
	// What a value must be stands at the end, behind all that a document says.
	if i := strings.LastIndex(text, "must be "); i > 0 && valueAt.MatchString(text) {
		return ruleOfValue(text, text[i+len("must be "):])
	}
	for _, r := range rules() {
		if strings.HasPrefix(text, r.begins) && strings.Contains(text, r.has) {
			return r.says
		}
	}
	return ""
}

// valueAt recognises messages about a value.
var valueAt = regexp.MustCompile(`^(the attribute \S+|the text) (is ("|empty; )|must be )`)

// ruleOfValue is the rule of a value that must be something.
func ruleOfValue(text, must string) string {
	for _, r := range []struct{ begins, says string }{
		{"one of ", "Only values of this list are accepted, spelt as they stand there, capital and small letters included."},
		{`"`, "Only this one value is accepted, spelt as it stands here, capital and small letters included."},
		{"empty", "This element says all that it says in its attributes: there is nothing between its tags."},
		{"a list", "It is a list: values with spaces between them, without commas, each as the rule of one says."},
		{"true or false", "It is a question of yes or no, answered with true or false in small letters."},
		{"a date and time", "A moment is a date, the letter T and a time: the year first, with four digits, then month and day with two."},
		{"a date", "A date is written year first, with four digits, then month and day with two, with hyphens between: 2026-03-01."},
		{"a time", "A time has hours, minutes and seconds with two digits each, and colons between: 09:05:00."},
		{"a year", "A year has four digits, a month of it two, with a hyphen between."},
		{"a number", "A number stands alone: digits with a point before decimals, no comma, no unit, nothing that means that there is none."},
		{"a whole number", "A whole number stands alone: digits without point, comma or unit, within the bounds."},
		{"any text", "It is text, within the bounds that the schema sets on its length and form."},
		{"a duration", "A duration is written as P1DT12H: a day and twelve hours."},
		{"a name", "It is a name for programs: it begins with a letter, and has no spaces."},
	} {
		switch {
		case !strings.HasPrefix(must, r.begins):
		case strings.Contains(text, ", which is not a day of the calendar; "):
			return "A date must be a day of the calendar: months have 28 to 31 days, and only leap years have a 29 February."
		case strings.Contains(text, " is empty; "):
			return r.says + " It can't be left empty; what nobody knows is left out altogether, where the schema allows that."
		default:
			return r.says
		}
	}
	return "A value must be as the type says that the schema gives it."
}

// rule is known by how the text of a message begins, and what else it has.
type rule struct{ begins, has, says string }

// rules are those of what is no value. The first that fits counts.
func rules() []rule {
	const (
		elements  = "An element contains only the elements that the schema names for it, in the order and as often as it says."
		spelling  = " Names are spelt as in the schema, capital and small letters included."
		namespace = "A name counts together with its namespace (xmlns): the same name in another namespace, or in none, is another element."
		complete  = "Some elements must be there: without them the element around is not complete, and where one is chosen of several, one must be."
		kinds     = "A document begins with the element of its kind, in that kind's namespace. Which kind it is, its name says."
		unique    = "What identifies something may stand in a document once only."
	)
	return []rule{
		{"the element ", " is not allowed here: it is in ", namespace},
		{"the element ", " may not contain any element", "This element says all that it says in its attributes or its text: there is no element inside it."},
		{"the element ", " is not allowed here: ", elements},
		{"the element ", " is not allowed here (did you mean ", elements + spelling},
		{"the element ", " is not allowed here", elements},
		{"the element ", " is missing", complete},
		{"an element is missing", "", complete},
		{"a required element is missing", "", complete},
		{"an element that must be empty contains an element", "", "An element that must be empty has nothing between its tags."},
		{"the attribute ", " is not allowed (did you mean ", "An element has only the attributes that the schema names for it." + spelling},
		{"the attribute ", " is not allowed", "An element has only the attributes that the schema names for it."},
		{"the attribute ", " is missing", "Some attributes must be there, each with a value as the schema says."},
		{"it may not have attributes", "", "This element says all that it says between its tags, and has no attributes."},
		{"it contains ", "must be empty", "An element that must be empty has nothing between its tags."},
		{"it contains ", "only text", "This element has text between its tags, and no element: a < that belongs to the text is written &lt;."},
		{"the text ", " is not allowed here", "This element contains elements: between these there may be blanks and new lines, and no text."},
		{"text is not allowed here", "", "This element contains elements: between these there may be blanks and new lines, and no text."},
		{"the text is not the value that the schema fixes", "", "The schema fixes this value: it may be left out, but not be another."},
		{"the attribute ", " is not the value that the schema fixes", "The schema fixes this value: it may be left out, but not be another."},
		{"the attribute ", " not as it must be: ", "A value must be as the type says that the schema gives it."},
		{"the text", " not as it must be: ", "A value must be as the type says that the schema gives it."},
		{"the root element is ", "", kinds},
		{"element ", " is not declared by the schema for this kind of document", kinds},
		{"it must be empty, because it has xsi:nil", "", "With xsi:nil an element says that it has no content, and so has none."},
		{"xsi:nil is not allowed on it", "", "Only elements of which the schema allows it may say with xsi:nil that they have no content."},
		{"xsi:type ", "", "With xsi:type an element may only take a type of the schema that may stand for its own."},
		{"its type is abstract", "", "With xsi:type an element may only take a type of the schema that may stand for its own."},
		{"it is abstract", "", "This element stands for others, of which one must be written in its place."},
		{"it refers to a key that is not in the document", "", "What is referred to must stand in the same document."},
		{"no element of the document has the ID ", "", "What is referred to must stand in the same document."},
		{"a part of its key is missing", "", "What identifies something must be whole."},
		{"its key is there already", "", unique},
		{"the ID ", " is there already", unique},
	}
}
