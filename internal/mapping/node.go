package mapping

import (
	"strings"

	"tributary/internal/profile/strict"
)

// node is an element at one path.
type node struct {
	name     string
	depth    int // of the root: 0
	parent   *node
	children []*node
	rule     *rule
	attrs    []attrCapture
	text     []capture
	centre   bool   // one of attrs must be the file's centre
	lists    []bool // by slot: whether it is of a list
	line     int    // of the expression that first named it
}

// attrCapture says where an attribute's value goes.
type attrCapture struct {
	name   string
	centre bool // it must be the file's centre
	to     []capture
}

// capture is a slot of the open element at a depth.
type capture struct {
	depth int
	slot  int
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	c := &node{name: name, depth: n.depth + 1, parent: n}
	n.children = append(n.children, c)
	return c
}

func (n *node) walk(path string) *node {
	for name := range strings.SplitSeq(path, "/") {
		n = n.child(name)
	}
	return n
}

// named remembers where the profile first names the element.
func (n *node) named(line int) {
	for ; n != nil && n.line == 0; n = n.parent {
		n.line = line
	}
}

// path is the element's path from the root.
func (n *node) path() string {
	if n.parent == nil || n.parent.depth < 0 {
		return n.name
	}
	return n.parent.path() + "/" + n.name
}

func (n *node) slot(list bool) int {
	n.lists = append(n.lists, list)
	return len(n.lists) - 1
}

// attribute returns the node's captures of an attribute.
func (n *node) attribute(name string) *attrCapture {
	for i := range n.attrs {
		if n.attrs[i].name == name {
			return &n.attrs[i]
		}
	}
	n.attrs = append(n.attrs, attrCapture{name: name})
	return &n.attrs[len(n.attrs)-1]
}

// elementName says whether a name can be that of an element or attribute as
// paths write it: without a prefix.
func elementName(name string) bool {
	return name != "" && name != "." && !strings.ContainsAny(name, " \t\r\n:/@=<>&'\"")
}

func (l *loader) path(k *kind, v strict.Value, key string) *node {
	names := strings.Split(v.Text, "/")
	for _, name := range names {
		if !elementName(name) || name == ".." {
			l.p.Add(v.Line, key, "must be a path of elements such as %s/element, not %q", k.root.name, v.Text)
			return nil
		}
	}
	if names[0] != k.root.name {
		l.p.Add(v.Line, key, "must begin with the root element %s: %q", k.root.name, v.Text)
		return nil
	}
	n := k.top.walk(v.Text)
	n.named(v.Line)
	return n
}

// share returns the slot of scope that receives an attribute or the text of the
// element, the same one for all who ask.
func (n *node) share(scope *node, attr string, list bool) int {
	to := &n.text
	if attr != "" {
		to = &n.attribute(attr).to
	}
	for _, c := range *to {
		if c.depth == scope.depth && scope.lists[c.slot] == list {
			return c.slot
		}
	}
	c := capture{depth: scope.depth, slot: scope.slot(list)}
	*to = append(*to, c)
	return c.slot
}
