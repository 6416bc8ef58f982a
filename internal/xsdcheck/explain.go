package xsdcheck

import (
	"strings"

	"github.com/jacoelho/xsd/xsderrors"

	"tributary/internal/xsdtree"
)

// keep is how many bytes of a document's beginning are kept until it is judged,
// so that messages can say what stands at a place and what may stand there.
// Beyond it they say what the schema allows in the element altogether.
const keep = 4 << 20

// explainer puts the findings about an invalid document into words.
type explainer struct {
	tree *xsdtree.Schema // nil if the schema couldn't be read: then words are plain
	text []byte          // the beginning of the document
}

// explain gives the findings that are Invalid their messages. Findings are
// sorted by position.
func (x *explainer) explain(findings []finding) {
	if len(findings) == 1 && findings[0].engine != nil && childOfEmpty(findings[0].engine) {
		x.childOfEmpty(&findings[0])
		return
	}
	s := scanner{tree: x.tree, text: x.text}
	where := offsets{text: x.text, line: 1}
	places := make([]place, len(findings))
	for i, f := range findings {
		if f.Exception != Invalid || f.Line == 0 {
			continue
		}
		p := &places[i]
		p.offset = where.at(f.engine.Line, f.engine.Column)
		p.closing = atEnd(f.engine.Message)
		if p.offset >= 0 {
			s.places = append(s.places, p)
		}
	}
	if x.tree != nil && len(s.places) > 0 {
		s.scan()
	}
	for i := range findings {
		if f := &findings[i]; f.Exception == Invalid {
			path, text := x.words(f.engine, &places[i])
			f.Message = withPath(path, text)
		}
	}
}

// childOfEmpty finds the place of what the engine gives up at without saying
// where: a child of an element that must be empty. What else is wrong with the
// document is not known.
func (x *explainer) childOfEmpty(f *finding) {
	f.Message = "an element that must be empty contains an element (its place is not known)"
	if x.tree == nil {
		return
	}
	var p place
	s := scanner{tree: x.tree, text: x.text, childOfEmpty: &p}
	s.scan()
	if p.seen {
		f.Line, f.Column = lineAndColumn(x.text, p.offset)
		f.Message = withPath(s.emptyPath, "the element "+p.tag.local+" is not allowed here: "+p.in.Name+" must be empty")
	}
}

// atEnd is true of findings about an element that ends.
func atEnd(message string) bool {
	return message == "missing required child element" || message == "nilled element must be empty" ||
		message == "fixed element value mismatch" || strings.HasPrefix(message, "invalid simple content: ")
}

// withPath puts the path of an element in front of what is wrong with it. The
// path is kept short so that what is wrong stays in the message.
func withPath(path, text string) string {
	if path != "" && path != "/" {
		text = cut(path, MaxMessage/2) + ": " + text
	}
	return clean(text)
}

// words returns the path of the element that a finding is about, and what is
// wrong with it.
func (x *explainer) words(f *xsderrors.Error, p *place) (path, text string) {
	path = f.Path
	room := MaxMessage - min(len(path), MaxMessage/2) - 120
	message := f.Message
	if f.Err != nil {
		message = strings.TrimPrefix(message+": "+f.Err.Error(), ": ")
	}
	if f.Code == xsderrors.CodeUnsupportedSchemaHint {
		_, component, _ := strings.Cut(f.Message, " for ")
		text = component + " is not declared by the schema for this kind of document (what xsi:schemaLocation names is never loaded)"
		if path == "" || path == "/" {
			_, label, _ := strings.Cut(component, " ")
			return "/" + local(label), text + x.roots(label, room)
		}
		return path, text
	}
	// Names of documents may be very long, and the rest is to be seen too.
	of := func(prefix string) (string, bool) {
		rest, found := strings.CutPrefix(message, prefix)
		return cut(rest, MaxMessage/3), found
	}

	if label, ok := of("unexpected child element "); ok {
		return path, x.unexpected(f, p, label, room)
	}
	if label, ok := of("root element is not declared: "); ok {
		return "/" + local(label), "the root element is " + label + x.roots(label, room)
	}
	if label, ok := of("attribute is not declared: "); ok {
		return path, x.undeclared(f, p, label, room)
	}
	if label, ok := of("missing required attribute "); ok {
		text = "the attribute " + label + " is missing"
		if a := attr(x.own(f, p), label); a != nil && a.Type.Base != "string" || a != nil && len(a.Type.Enum) > 0 {
			text += "; it must be " + typeInWords(a.Type, room)
		}
		return path, text
	}
	if rest, ok := of("invalid attribute "); ok {
		label, detail, _ := strings.Cut(rest, ": ")
		if strings.HasPrefix(rest, "{") { // a namespace has colons
			space, local, _ := strings.Cut(rest, "}")
			label, detail, _ = strings.Cut(local, ": ")
			label = space + "}" + label
		}
		return path, valueInWords("the attribute "+label, valueOf(p, label), attrType(x.own(f, p), label), detail, room)
	}
	if label, ok := of("fixed attribute mismatch "); ok {
		t := plainType("string")
		if a := attr(x.own(f, p), label); a != nil && a.Fixed != nil {
			t.Enum = []string{*a.Fixed}
			return path, valueInWords("the attribute "+label, valueOf(p, label), &t, "", room)
		}
		return path, "the attribute " + label + " is not the value that the schema fixes"
	}
	if detail, ok := of("invalid simple content: "); ok {
		return path, x.content(f, p, detail, room)
	}
	if message == "fixed element value mismatch" {
		if e := x.around(f, p); e != nil && e.Fixed != nil {
			t := plainType("string")
			t.Enum = []string{*e.Fixed}
			return path, valueInWords("the text", textOf(p), &t, "", room)
		}
		return path, "the text is not the value that the schema fixes"
	}
	switch message {
	case "missing required child element":
		return path, x.incomplete(f, p, room)
	case "simple type cannot contain child elements", "simple content cannot contain child elements":
		text = "it contains an element"
		if p.seen && p.tag.local != "" {
			text = "it contains the element " + p.tag.local
		}
		e := x.around(f, p)
		switch {
		case e != nil && e.Text != nil && e.Text.MaxLength == 0:
			text += ", but must be empty"
		case e != nil && e.Text != nil:
			text += ", but may contain only text: " + typeInWords(*e.Text, room)
		default:
			text += ", but may contain only text"
		}
		return path, strings.TrimSuffix(text, ": any text")
	case "character data is not allowed":
		return path, x.stray(f, p, room)
	case "simple type does not allow attributes":
		text = "it may not have attributes"
		for _, a := range p.attrs {
			if a.prefix == "" && a.local != "xmlns" {
				return path, text + ", but has " + a.local
			}
		}
		return path, text
	}
	// What is said about a start tag before its element is entered has the path
	// of the element around.
	if own, ok := ownWords(f.Code, message); ok {
		if p.seen && p.tag.local != "" {
			path = strings.TrimSuffix(path, "/") + "/" + p.tag.local
		}
		return path, own
	}
	return path, plainWords(message, f)
}

// ownWords says what is wrong with a start tag, of those findings whose path is
// that of the element around.
func ownWords(code xsderrors.Code, message string) (string, bool) {
	switch {
	case message == "element is not nillable":
		return "xsi:nil is not allowed on it", true
	case message == "nilled element cannot have fixed value":
		return "xsi:nil is not allowed on it: its value is fixed", true
	case message == "complex type is abstract":
		return "its type is abstract: xsi:type must name one that is not", true
	case message == "abstract element cannot appear directly":
		return "it is abstract: another element must stand for it", true
	case strings.HasPrefix(message, "unknown xsi:type "):
		return "xsi:type names " + strings.TrimPrefix(message, "unknown xsi:type ") + ", which the schema doesn't have", true
	case code == xsderrors.CodeValidationType && strings.HasPrefix(message, "xsi:type "):
		return message, true
	}
	return "", false
}

// plainWords says what is left.
func plainWords(message string, f *xsderrors.Error) string {
	switch {
	case message == "nilled element must be empty":
		return "it must be empty, because it has xsi:nil"
	case message == "keyref does not resolve":
		return "it refers to a key that is not in the document"
	case message == "key field is missing":
		return "a part of its key is missing"
	case strings.HasPrefix(message, "duplicate identity value first seen at "):
		return "its key is there already, at " + strings.TrimPrefix(message, "duplicate identity value first seen at ")
	case strings.HasPrefix(message, "IDREF does not resolve: "):
		return "no element of the document has the ID " + quoted(strings.TrimPrefix(message, "IDREF does not resolve: "))
	case strings.HasPrefix(message, "duplicate ID "):
		return "the ID " + strings.Replace(strings.TrimPrefix(message, "duplicate ID "), " first seen at ", " is there already, at ", 1)
	case message == "":
		return string(f.Code)
	}
	return message
}
