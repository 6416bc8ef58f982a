package xsdcheck

import (
	"html"
	"strings"

	"github.com/jacoelho/xsd/xsderrors"

	"tributary/internal/xsdtree"
)

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
