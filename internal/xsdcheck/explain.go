package xsdcheck

import (
	"cmp"
	"fmt"
	"html"
	"slices"
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
			text += x.roots(component, room)
		}
		return path, text
	}
	of := func(prefix string) (string, bool) { return strings.CutPrefix(message, prefix) }

	if label, ok := of("unexpected child element "); ok {
		return path, x.unexpected(f, p, label, room)
	}
	if label, ok := of("root element is not declared: "); ok {
		return path, "the root element is " + label + x.roots(label, room)
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

// unexpected says that a child is not allowed, and what is.
func (x *explainer) unexpected(f *xsderrors.Error, p *place, label string, room int) string {
	in := x.around(f, p)
	local := label
	if namespace, name, found := strings.Cut(strings.TrimPrefix(label, "{"), "}"); found {
		local = name
		if in != nil && in.Namespace == namespace {
			label = local // the namespace is as it should be
		}
	}
	text := "the element " + label + " is not allowed here"
	if in == nil {
		return text
	}
	if len(in.Children) == 0 && in.Open == "" {
		return text + ": " + in.Name + " may not contain any element"
	}
	if in.Open != "" {
		return text
	}
	if other := in.Child(local); other != nil && p.seen && p.tag.space != other.Namespace {
		return text + ": it is in " + space(p.tag.space) + ", and must be in " + space(other.Namespace)
	}
	names := childNames(in)
	known := slices.Contains(names, local)
	if !known {
		text += didYouMean(local, names)
	}
	if !p.known {
		return text + "; " + in.Name + " may contain" + model(in, room)
	}
	text += "; " + expected(p, in, room/2)
	if known {
		text += ". " + in.Name + " may contain" + model(in, room/2)
	}
	return text
}

// incomplete says that an element ends too early, and what is missing.
func (x *explainer) incomplete(f *xsderrors.Error, p *place, room int) string {
	in := x.around(f, p)
	switch {
	case in == nil || in.Open != "":
		return "a required element is missing at its end"
	case p.known && len(p.next) > 0:
		if len(p.next) == 1 {
			return "the element " + p.next[0].Name + " is missing" + behind(p)
		}
		return "an element is missing" + behind(p) + "; allowed there: " + list(elementNames(in, p.next), len(p.next), room)
	}
	return "a required element is missing at its end; it may contain" + model(in, room)
}

// stray says that there may be no text.
func (x *explainer) stray(f *xsderrors.Error, p *place, room int) string {
	text := "text is not allowed here"
	if value := strings.TrimSpace(unescaped(p.text)); value != "" {
		text = "the text " + quoted(value) + " is not allowed here"
	}
	in := x.around(f, p)
	switch {
	case in == nil || in.Open != "":
		return text
	case len(in.Children) == 0:
		return text + ": " + in.Name + " must be empty"
	case p.known:
		return text + "; " + expected(p, in, room)
	}
	return text + "; " + in.Name + " may contain" + model(in, room)
}

// content says what is wrong with an element's text.
func (x *explainer) content(f *xsderrors.Error, p *place, detail string, room int) string {
	e := x.around(f, p)
	if e == nil || e.Text == nil {
		return valueInWords("the text", textOf(p), nil, detail, room)
	}
	return valueInWords("the text", textOf(p), e.Text, detail, room)
}

// undeclared says that an attribute is not allowed, and which are.
func (x *explainer) undeclared(f *xsderrors.Error, p *place, label string, room int) string {
	text := "the attribute " + label + " is not allowed"
	e := x.own(f, p)
	if e == nil || e.Open != "" {
		return text
	}
	var names []string
	for _, a := range e.Attributes {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return text + "; it may not have any"
	}
	return text + didYouMean(label, names) + "; allowed: " + list(alphabetical(names), len(names), room)
}

// roots says which root elements are allowed.
func (x *explainer) roots(label string, room int) string {
	if x.tree == nil || len(x.tree.Roots) == 0 {
		return ", which the schema for this kind of document doesn't have"
	}
	_, local, found := strings.Cut(label, "}")
	if !found {
		local = label
	}
	for _, root := range x.tree.Roots {
		if root.Name == local {
			return "; it must be in " + space(root.Namespace)
		}
	}
	var all []string
	for _, root := range x.tree.Roots {
		all = append(all, root.Name)
	}
	of := ""
	if len(all) == 1 {
		of = " in " + space(x.tree.Roots[0].Namespace)
	}
	return "; it must be " + list(all, len(all), room) + of
}

func space(namespace string) string {
	if namespace == "" {
		return "no namespace"
	}
	return "the namespace " + cut(namespace, 120)
}

// expected says what may come at a place.
func expected(p *place, in *xsdtree.Element, room int) string {
	if len(p.next) == 0 {
		return "nothing may follow" + strings.Replace(behind(p), " after", "", 1)
	}
	text := "allowed" + behind(p) + ": " + list(elementNames(in, p.next), len(p.next), room)
	if p.end {
		text += ", or the end of " + in.Name
	}
	return text
}

func behind(p *place) string {
	if p.after == "" {
		return ""
	}
	return " after " + p.after
}

// elementNames returns the names of children in schema order, but those of a
// choice, whose order means nothing, in the order of the alphabet.
func elementNames(in *xsdtree.Element, elements []*xsdtree.Element) []string {
	var children []xsdtree.Child
	for _, e := range elements[:min(len(elements), maxSorted)] {
		i := slices.IndexFunc(in.Children, func(c xsdtree.Child) bool { return c.Element == e })
		if i >= 0 {
			children = append(children, in.Children[i])
		}
	}
	sortChoices(children)
	names := make([]string, len(children))
	for i, c := range children {
		names[i] = c.Name
	}
	return names
}

func sortChoices(children []xsdtree.Child) {
	for begin, i := 0, 0; i < len(children); begin = i {
		for ; i < len(children) && children[i].Choice == children[begin].Choice; i++ {
		}
		if children[begin].Choice > 0 {
			slices.SortFunc(children[begin:i], func(a, b xsdtree.Child) int { return cmp.Compare(a.Name, b.Name) })
		}
	}
}

func childNames(e *xsdtree.Element) []string {
	var names []string
	for _, c := range e.Children {
		names = append(names, c.Name)
	}
	return names
}

// model says what an element may contain altogether, in a few words.
func model(e *xsdtree.Element, room int) string {
	var items []string
	choices := 0
	children := slices.Clone(e.Children[:min(len(e.Children), maxSorted)])
	sortChoices(children)
	for _, c := range children {
		item := c.Name
		switch {
		case c.Choice > 0:
			choices++
		case c.Max == xsdtree.Unbounded && c.Min == 0:
			item += " (any number)"
		case c.Max == xsdtree.Unbounded:
			item += fmt.Sprintf(" (%d or more)", c.Min)
		case c.Min == 0:
			item += fmt.Sprintf(" (at most %d)", c.Max)
		case c.Min != c.Max:
			item += fmt.Sprintf(" (%d to %d)", c.Min, c.Max)
		case c.Max > 1:
			item += fmt.Sprintf(" (%d)", c.Max)
		}
		items = append(items, item)
	}
	switch {
	case len(items) == 0:
		return " no element"
	case choices == len(items) || len(items) == 1:
		return " " + list(items, len(e.Children), room)
	}
	return ", in this order: " + list(items, len(e.Children), room)
}

// own returns what the schema says of the element that begins at a place; nil
// if it can't tell.
func (x *explainer) own(f *xsderrors.Error, p *place) *xsdtree.Element {
	if !p.seen {
		return x.byPath(f.Path)
	}
	return p.own
}

// around returns what the schema says of the element whose content a finding
// is about.
func (x *explainer) around(f *xsderrors.Error, p *place) *xsdtree.Element {
	if !p.seen {
		return x.byPath(f.Path)
	}
	return p.in
}

// byPath finds the element at a path of the validator. It is nil where the path
// isn't one of the schema.
func (x *explainer) byPath(path string) *xsdtree.Element {
	if x.tree == nil {
		return nil
	}
	var e *xsdtree.Element
	for i, step := range steps(path) {
		if i == 0 {
			e = x.tree.Root(step)
		} else {
			e = e.Child(step)
		}
		if e == nil {
			return nil
		}
	}
	return e
}

// steps returns the local names of a path, whose steps may have a namespace in
// braces, which may have slashes.
func steps(path string) []string {
	var all []string
	for path != "" {
		path = strings.TrimPrefix(path, "/")
		if strings.HasPrefix(path, "{") {
			_, path, _ = strings.Cut(path, "}")
		}
		var step string
		if i := strings.IndexByte(path, '/'); i >= 0 {
			step, path = path[:i], path[i:]
		} else {
			step, path = path, ""
		}
		all = append(all, step)
	}
	return all
}

// attr returns the declaration of the attribute of a label, whose namespace is
// in braces if it has one; nil if the schema has none of that name.
func attr(e *xsdtree.Element, label string) *xsdtree.Attribute {
	if e == nil {
		return nil
	}
	if space, local, found := strings.Cut(strings.TrimPrefix(label, "{"), "}"); found {
		if a := e.Attr(local); a != nil && a.Namespace == space {
			return a
		}
		return nil
	}
	return e.Attr(label)
}

func attrType(e *xsdtree.Element, label string) *xsdtree.Type {
	if a := attr(e, label); a != nil {
		return &a.Type
	}
	return nil
}

// valueOf returns the value of an attribute in the tag at a place; nil if it
// isn't known.
func valueOf(p *place, label string) *string {
	for _, a := range p.attrs {
		if a.local == label && a.prefix == "" {
			value := unescaped(a.value)
			return &value
		}
	}
	return nil
}

// textOf returns the text of the element that ends at a place; nil if it isn't
// known, or not in one piece.
func textOf(p *place) *string {
	if !p.seen || strings.Contains(p.text, "<") {
		return nil
	}
	value := unescaped(p.text)
	return &value
}

// unescaped resolves references to characters. HTML's further entities can't be
// in a document that is found well-formed.
func unescaped(value string) string {
	return html.UnescapeString(cut(value, 4*maxValue))
}

func plainType(base string) xsdtree.Type {
	return xsdtree.Type{Base: base, MaxLength: -1, TotalDigits: -1, FractionDigits: -1}
}
