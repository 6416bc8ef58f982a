package xsdcheck

import (
	"bytes"
	"strings"

	"tributary/internal/xsdtree"
)

const xsiNS = "http://www.w3.org/2001/XMLSchema-instance"

// maxSteps bounds the work of following content models and namespaces through
// one document. A large document of the project's kinds takes a tenth of it.
const maxSteps = 10_000_000

// name is an expanded name.
type name struct{ space, local string }

// attribute is an attribute as a tag has it.
type attribute struct{ prefix, local, value string }

// place is what the document's text tells about where a finding is.
type place struct {
	offset  int  // in the text; -1 if it is beyond what is kept
	closing bool // the finding is about an element at its end

	// seen is true if the scan got there; then the rest is filled in.
	seen bool
	// tag is the start tag that is there, if one is, and own what the schema
	// says of it. attrs are its attributes.
	tag   name
	own   *xsdtree.Element
	attrs []attribute
	// in is the element around, or the one that ends here; nil if the schema
	// doesn't know it or can't tell.
	in *xsdtree.Element
	// next may come here, and the element may end here if end is true; both
	// only if known is.
	next       []*xsdtree.Element
	end, known bool
	after      string // the child before, "" at the beginning
	text       string // the text there, as it is written
}

// open is an element that the scan is within.
type open struct {
	local    string
	scope    *scope
	element  *xsdtree.Element
	position *xsdtree.Position
	after    string
	begin    int // offset of the content
}

// scope is a namespace declaration and those around it.
type scope struct {
	prefix, space string
	outer         *scope
}

// find returns the namespace of a prefix. A document may declare thousands, and
// have ten thousands of tags.
func (s *scanner) find(from *scope, prefix string) string {
	for hops := 0; from != nil; from = from.outer {
		if hops++; hops%8 == 0 {
			s.steps--
		}
		if from.prefix == prefix {
			return from.space
		}
	}
	return ""
}

// scanner goes once through the beginning of a document and completes the
// places, which are in order. The text has been found well-formed by the
// validator; where it isn't as expected the scan ends, and the places that
// follow stay unseen.
type scanner struct {
	tree   *xsdtree.Schema
	text   []byte
	places []*place
	stack  []open
	steps  int
	// childOfEmpty, if not nil, is to be put at the first element whose parent
	// must be empty. Its path is kept in emptyPath.
	childOfEmpty *place
	emptyPath    string
}

func (s *scanner) scan() {
	s.steps = maxSteps
	for at := 0; at < len(s.text) && s.steps > 0 && (len(s.places) > 0 || s.childOfEmpty != nil); {
		begin := bytes.IndexByte(s.text[at:], '<')
		if begin < 0 {
			return
		}
		begin += at
		s.chars(at, begin)
		rest := s.text[begin:]
		var size int
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			size = after(rest, "-->")
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			size = after(rest, "]]>")
			s.chars(begin, begin+size)
		case bytes.HasPrefix(rest, []byte("<?")):
			size = after(rest, "?>")
		case bytes.HasPrefix(rest, []byte("</")):
			size = after(rest, ">")
			if size == 0 || len(s.stack) == 0 {
				return
			}
			s.close(begin, begin+size)
		default:
			size = tagSize(rest)
			if size == 0 {
				return
			}
			s.start(begin, begin+size)
		}
		if size == 0 {
			return
		}
		at = begin + size
	}
}

// due takes the places in front of end. Those in front of begin, which no part
// of the document claimed, stay unseen.
func (s *scanner) due(begin, end int) []*place {
	for len(s.places) > 0 && s.places[0].offset < begin {
		s.places = s.places[1:]
	}
	n := 0
	for n < len(s.places) && s.places[n].offset < end {
		n++
	}
	due := s.places[:n]
	s.places = s.places[n:]
	return due
}

// chars meets text between tags.
func (s *scanner) chars(begin, end int) {
	if begin == end || len(s.stack) == 0 {
		return
	}
	for _, p := range s.due(begin, end) {
		p.text = string(s.text[begin:min(end, begin+4*maxValue)])
		s.around(p)
	}
}

// close meets an end tag.
func (s *scanner) close(begin, end int) {
	top := s.stack[len(s.stack)-1]
	for _, p := range s.due(begin, end) {
		p.text = string(s.text[top.begin:min(begin, top.begin+4*maxValue)])
		s.around(p)
	}
	s.stack = s.stack[:len(s.stack)-1]
}

// around tells a place about the innermost element.
func (s *scanner) around(p *place) {
	p.seen = true
	if len(s.stack) == 0 {
		return
	}
	top := &s.stack[len(s.stack)-1]
	p.in, p.after = top.element, top.after
	if top.position != nil {
		p.next, p.end, p.known = top.position.Expected()
	}
}

// start meets a start tag, or that of an empty element.
func (s *scanner) start(begin, end int) {
	raw := s.text[begin+1 : end-1]
	empty := bytes.HasSuffix(raw, []byte("/"))
	due := s.due(begin, end)
	// Only few tags need their attributes looked at.
	var attrs []attribute
	if len(due) > 0 || bytes.Contains(raw, []byte("xmlns")) || bytes.Contains(raw, []byte(":type")) {
		attrs = attributes(raw)
	}
	var sc *scope
	if len(s.stack) > 0 {
		sc = s.stack[len(s.stack)-1].scope
	}
	for _, a := range attrs {
		switch {
		case a.prefix == "xmlns":
			sc = &scope{a.local, a.value, sc}
		case a.prefix == "" && a.local == "xmlns":
			sc = &scope{"", a.value, sc}
		}
	}
	prefix, local := split(raw[:nameSize(raw)])
	tag := name{s.find(sc, prefix), local}
	for _, p := range due {
		p.tag, p.attrs = tag, attrs
		s.around(p)
	}
	if p := s.childOfEmpty; p != nil && s.mustBeEmpty() {
		p.offset, p.tag = begin, tag
		s.around(p)
		s.childOfEmpty, s.emptyPath = nil, s.path()
	}
	element := s.enter(tag, len(due) > 0)
	for _, a := range attrs {
		if a.local == "type" && a.prefix != "" && s.find(sc, a.prefix) == xsiNS {
			element = nil // the document chose its type
		}
	}
	for _, p := range due {
		p.own = element
	}
	inside := open{local: local, scope: sc, element: element, begin: end}
	if element != nil {
		inside.position = element.Begin(&s.steps)
	}
	s.stack = append(s.stack, inside)
	if !empty {
		return
	}
	for _, p := range due {
		if p.closing {
			s.around(p)
		}
	}
	s.stack = s.stack[:len(s.stack)-1]
}

// enter goes past a child in the element around, and returns what the schema
// says of it; nil if it isn't allowed there, or the schema can't tell.
func (s *scanner) enter(tag name, reported bool) *xsdtree.Element {
	if len(s.stack) == 0 {
		for _, root := range s.tree.Roots {
			if root.Name == tag.local && root.Namespace == tag.space {
				return root
			}
		}
		return nil
	}
	top := &s.stack[len(s.stack)-1]
	if top.position == nil {
		return nil
	}
	element := top.position.Next(tag.space, tag.local)
	switch {
	case element != nil:
		top.after = tag.local
	case !reported:
		// The validator let it pass, so the way through the model is lost.
		top.position = nil
	}
	return element
}

// mustBeEmpty is true if the innermost element may have neither children nor
// text.
func (s *scanner) mustBeEmpty() bool {
	if len(s.stack) == 0 {
		return false
	}
	e := s.stack[len(s.stack)-1].element
	return e != nil && len(e.Children) == 0 && e.Text == nil && e.Open == ""
}

// path returns the path of the innermost element.
func (s *scanner) path() string {
	var b strings.Builder
	for _, o := range s.stack {
		b.WriteString("/" + o.local)
	}
	return b.String()
}
