package xsdtree

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// node is an element of a schema file.
type node struct {
	file   *file
	line   int
	name   string // local name; all are in the XML Schema namespace
	attrs  []xml.Attr
	scope  *scope
	kids   []*node
	parent *node
}

// scope is the namespace declarations of one element, and of those around it.
type scope struct {
	outer    *scope
	prefixes map[string]string
}

// failf is an error about a place in a schema.
func (n *node) failf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{n.where()}, args...)...)
}

func (n *node) where() string { return fmt.Sprintf("%s:%d", n.file.name, n.line) }

// attr returns an attribute of the schema language, which has no namespace.
func (n *node) attr(name string) (string, bool) {
	for _, a := range n.attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return strings.Trim(a.Value, " \t\r\n"), true
		}
	}
	return "", false
}

func (n *node) get(name string) string {
	value, _ := n.attr(name)
	return value
}

// value returns an attribute as it is written, for values of documents.
func (n *node) value(name string) *string {
	for _, a := range n.attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return &a.Value
		}
	}
	return nil
}

// child returns the first child of one of the names.
func (n *node) child(names ...string) *node {
	for _, kid := range n.kids {
		for _, name := range names {
			if kid.name == name {
				return kid
			}
		}
	}
	return nil
}

// qname resolves a name that an attribute refers to.
func (n *node) qname(text string) (xml.Name, error) {
	prefix, local, found := strings.Cut(text, ":")
	if !found {
		prefix, local = "", text
	}
	if prefix == "xml" {
		return xml.Name{Space: xmlNS, Local: local}, nil
	}
	for s := n.scope; s != nil; s = s.outer {
		if space, ok := s.prefixes[prefix]; ok {
			return xml.Name{Space: space, Local: local}, nil
		}
	}
	if prefix == "" {
		// Without a default namespace an unprefixed name is in none; in an
		// included file without a target namespace it takes the includer's.
		if _, own := n.file.root.attr("targetNamespace"); !own {
			return xml.Name{Space: n.file.target, Local: local}, nil
		}
		return xml.Name{Local: local}, nil
	}
	return xml.Name{}, n.failf("the prefix of %q is not declared", text)
}
