package xsdtree

import (
	"encoding/xml"
	"fmt"
	"io/fs"
	"math"
	"strconv"
)

// Limits of what is made out of the files: groups and base types that are used
// again and again multiply.
const (
	maxListed   = 200_000 // children and attributes of all elements
	maxChildren = 10_000  // of one element
)

// Load reads the schema in fsys's file entry, with what it imports and includes
// by relative paths. Errors name the file and the line.
func Load(fsys fs.FS, entry string) (*Schema, error) {
	r := &reader{fsys: fsys, files: make(map[[2]string]*file)}
	if _, err := r.open(entry, "", nil); err != nil {
		return nil, fmt.Errorf("reading schema %s: %w", entry, err)
	}
	l := &loader{
		global:   make(map[component]*node),
		elements: make(map[*node]*Element),
		contents: make(map[*node]*content),
		simple:   make(map[*node]*Type),
		groups:   make(map[*node]*particle),
		busy:     make(map[*node]bool),
		members:  make(map[xml.Name][]*node),
	}
	schema, err := l.load(r.order)
	if err != nil {
		return nil, fmt.Errorf("reading schema %s: %w", entry, err)
	}
	return schema, nil
}

// component names a global declaration.
type component struct {
	kind string // element, attribute, type, group, attributeGroup
	name xml.Name
}

// loader turns nodes into what they declare. Everything is made once, so that
// what refers to itself ends.
type loader struct {
	global   map[component]*node
	elements map[*node]*Element
	queue    []*node // elements to be filled
	contents map[*node]*content
	simple   map[*node]*Type
	groups   map[*node]*particle
	busy     map[*node]bool
	members  map[xml.Name][]*node // elements by the head they may stand for
	listed   int
}

func (l *loader) load(files []*file) (*Schema, error) {
	var roots []*node
	for _, f := range files {
		for _, n := range f.root.kids {
			kind := n.name
			switch kind {
			case "complexType", "simpleType":
				kind = "type"
			case "element", "attribute", "group", "attributeGroup":
			case "include", "import", "notation":
				continue
			default:
				return nil, n.failf("xs:%s is not understood here", n.name)
			}
			name := n.get("name")
			if name == "" {
				return nil, n.failf("a global xs:%s has no name", n.name)
			}
			id := component{kind, xml.Name{Space: f.target, Local: name}}
			if l.global[id] != nil {
				continue // whether that is allowed is for the validator to say
			}
			l.global[id] = n
			if kind != "element" {
				continue
			}
			roots = append(roots, n)
			if head := n.get("substitutionGroup"); head != "" {
				to, err := n.qname(head)
				if err != nil {
					return nil, err
				}
				l.members[to] = append(l.members[to], n)
			}
		}
	}
	s := &Schema{}
	for _, n := range roots {
		e, err := l.element(n)
		if err != nil {
			return nil, err
		}
		if n.get("abstract") != "true" && n.get("abstract") != "1" {
			s.Roots = append(s.Roots, e)
		}
	}
	for len(l.queue) > 0 {
		n := l.queue[0]
		l.queue = l.queue[1:]
		if err := l.fill(l.elements[n], n); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// find returns the global component that an attribute of n names.
func (l *loader) find(n *node, kind, text string) (*node, error) {
	name, err := n.qname(text)
	if err != nil {
		return nil, err
	}
	if found := l.global[component{kind, name}]; found != nil {
		return found, nil
	}
	return nil, n.failf("there is no %s %q", kind, text)
}

// enter marks a component as being read; it fails if it is already, which
// means that the component is part of its own definition.
func (l *loader) enter(n *node) error {
	if l.busy[n] {
		return n.failf("%s %q is defined by itself", n.name, n.get("name"))
	}
	l.busy[n] = true
	return nil
}

func (l *loader) leave(n *node) { delete(l.busy, n) }

// element returns the element that n declares. It is filled later.
func (l *loader) element(n *node) (*Element, error) {
	if e := l.elements[n]; e != nil {
		return e, nil
	}
	name := n.get("name")
	if name == "" {
		return nil, n.failf("an element has neither name nor ref")
	}
	e := &Element{Name: name, File: n.file.name, Line: n.line}
	form, has := n.attr("form")
	if n.parent == n.file.root || form == "qualified" || !has && n.file.qualifiedElements {
		e.Namespace = n.file.target
	}
	e.Nillable = n.get("nillable") == "true" || n.get("nillable") == "1"
	e.Default, e.Fixed = n.value("default"), n.value("fixed")
	l.elements[n] = e
	l.queue = append(l.queue, n)
	return e, nil
}

// fill gives an element what its type says.
func (l *loader) fill(e *Element, n *node) error {
	c, err := l.typeOf(n)
	if err != nil {
		return err
	}
	e.Attributes, e.Text, e.Mixed, e.Open, e.model = c.attrs, c.text, c.mixed, c.open, c.model
	if l.listed += len(c.attrs); l.listed > maxListed {
		return n.failf("the schema lists more than %d children and attributes", maxListed)
	}
	f := flattener{loader: l, element: e, at: n}
	return f.add(c.model, 1, 1, 0)
}

// typeOf returns the content of the type of an element.
func (l *loader) typeOf(n *node) (*content, error) {
	if name := n.get("type"); name != "" {
		return l.named(n, name)
	}
	if t := n.child("complexType"); t != nil {
		return l.complex(t)
	}
	if t := n.child("simpleType"); t != nil {
		return l.simpleContent(t)
	}
	if head := n.get("substitutionGroup"); head != "" {
		to, err := l.find(n, "element", head)
		if err != nil {
			return nil, err
		}
		if err := l.enter(n); err != nil {
			return nil, err
		}
		defer l.leave(n)
		return l.typeOf(to)
	}
	return anything(n), nil
}

// anything is the content of an element without a type.
func anything(n *node) *content {
	text := plain("string")
	return &content{text: &text, mixed: true, open: "anything is allowed in it (" + n.where() + ")"}
}

// named returns the content of the type of that name.
func (l *loader) named(n *node, text string) (*content, error) {
	name, err := n.qname(text)
	if err != nil {
		return nil, err
	}
	if name.Space == xsdNS {
		if name.Local == "anyType" {
			return anything(n), nil
		}
		t, err := builtin(n, name.Local)
		if err != nil {
			return nil, err
		}
		return &content{text: t}, nil
	}
	t, err := l.find(n, "type", text)
	if err != nil {
		return nil, err
	}
	if t.name == "complexType" {
		return l.complex(t)
	}
	return l.simpleContent(t)
}

func (l *loader) simpleContent(t *node) (*content, error) {
	text, err := l.simpleType(t)
	if err != nil {
		return nil, err
	}
	return &content{text: text}, nil
}

// occurs reads minOccurs and maxOccurs.
func occurs(n *node) (least, most int, err error) {
	least, most = 1, 1
	if text, ok := n.attr("minOccurs"); ok {
		if least, err = number(n, "minOccurs", text); err != nil {
			return 0, 0, err
		}
	}
	if text, ok := n.attr("maxOccurs"); ok {
		if text == "unbounded" {
			return least, Unbounded, nil
		}
		if most, err = number(n, "maxOccurs", text); err != nil {
			return 0, 0, err
		}
	}
	if least > most {
		return 0, 0, n.failf("minOccurs %d is more than maxOccurs %d", least, most)
	}
	return least, most, nil
}

// number reads a count. What is beyond 2^31 is as good as that.
func number(n *node, name, text string) (int, error) {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, n.failf("%s is %q, which is not a number", name, text)
	}
	return int(min(value, math.MaxInt32)), nil
}
