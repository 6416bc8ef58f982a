package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// kind is the compiled form of one kind of document: a tree of the elements
// that matter.
type kind struct {
	root *node
}

// node is an element at one path.
type node struct {
	name     string
	depth    int // of the root: 0
	parent   *node
	children []*node
	rules    []*rule
	attrs    []capture
	text     []capture
	present  []capture
	slots    int // that captures below or at this element write to
	lists    []bool
	centre   string // name of the attribute that must be the file's centre
}

// capture says where a value that is read goes: into a slot of the open
// element at a depth.
type capture struct {
	attr  string
	depth int
	slot  int
}

// source says where a column's value comes from when a row is written.
type source struct {
	literal string
	capture      // depth < 0: literal or absent
	late    bool // only there when the element at its depth ends
}

type rule struct {
	table       *Table
	parentDepth int // of the element that made the parent's row; -1: none
	parentIndex int // of its rule at that element
	unless      *capture
	columns     []source
	key         []int
	emit        int // depth of the element at whose end the row is complete
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

func (n *node) slot(list bool) int {
	n.slots++
	n.lists = append(n.lists, list)
	return n.slots - 1
}

func (m *Mapping) compile(centre string, rows []ruleFile) (*kind, error) {
	k := &kind{root: &node{depth: -1}}
	for _, row := range rows {
		if len(row.At) == 0 {
			return nil, fmt.Errorf("a row of %s: at is missing", row.Table)
		}
		for _, at := range row.At {
			if err := m.addRule(k, row, at); err != nil {
				return nil, fmt.Errorf("row of %s at %s: %w", row.Table, at, err)
			}
		}
	}
	path, attr, ok := strings.Cut(centre, "/@")
	if !ok {
		return nil, fmt.Errorf("centre: %q is not the path of an attribute", centre)
	}
	k.root.walk(path).centre = attr
	if len(k.root.children) != 1 {
		return nil, fmt.Errorf("all paths must begin with the one root element")
	}
	return k, nil
}

func (n *node) walk(path string) *node {
	for name := range strings.SplitSeq(path, "/") {
		n = n.child(name)
	}
	return n
}

func (m *Mapping) addRule(k *kind, row ruleFile, path string) error {
	at := k.root.walk(path)
	r := &rule{table: m.Table(row.Table), parentDepth: -1, emit: at.depth}
	if r.table == nil {
		return fmt.Errorf("the table is not declared")
	}
	if r.table.Parent != nil {
		for up := at.parent; up != nil && r.parentDepth < 0; up = up.parent {
			for i, other := range up.rules {
				if other.table == r.table.Parent {
					r.parentDepth, r.parentIndex = up.depth, i
				}
			}
		}
		if r.parentDepth < 0 {
			return fmt.Errorf("no enclosing element makes a row of %s, its parent: name that row first", r.table.Parent.Name)
		}
	}
	used := 0
	for _, c := range r.table.Columns {
		expr, ok := row.Values[c.Name]
		s := source{capture: capture{depth: -1}}
		if ok {
			used++
			var err error
			if s, err = compileSource(at, expr, c.list); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		if s.late {
			r.emit = min(r.emit, s.depth)
		}
		r.columns = append(r.columns, s)
	}
	if used != len(row.Values) {
		return fmt.Errorf("values names a column that the table does not have")
	}
	if r.table.Claims != (len(row.Key) > 0) {
		return fmt.Errorf("key must be given for tables with claims, and for no others")
	}
	for _, name := range row.Key {
		i := slices.IndexFunc(r.table.Columns, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("key: %q is not a column", name)
		}
		r.key = append(r.key, i)
	}
	if row.Unless != "" {
		c := capture{depth: at.depth, slot: at.slot(false)}
		child := at.walk(row.Unless)
		child.present = append(child.present, c)
		r.unless = &c
	}
	at.rules = append(at.rules, r)
	return nil
}

// compileSource understands one expression relative to at.
func compileSource(at *node, expr string, list bool) (source, error) {
	if word, ok := strings.CutPrefix(expr, "="); ok {
		return source{literal: word, capture: capture{depth: -1}}, nil
	}
	scope, rest := at, expr
	for rest == ".." || strings.HasPrefix(rest, "../") {
		if scope = scope.parent; scope == nil || scope.depth < 0 {
			return source{}, fmt.Errorf("%q leaves the document", expr)
		}
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".."), "/")
	}
	path, attr := rest, ""
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		path, attr = strings.TrimSuffix(rest[:i], "/"), rest[i+1:]
		if attr == "" {
			return source{}, fmt.Errorf("%q names no attribute", expr)
		}
	}
	from := scope
	if path != "" && path != "." {
		from = scope.walk(path)
	}
	c := capture{attr: attr, depth: scope.depth, slot: scope.slot(list)}
	if attr != "" {
		from.attrs = append(from.attrs, c)
	} else {
		from.text = append(from.text, c)
	}
	// What an open element's tag said is there; anything else waits.
	return source{capture: c, late: attr == "" || from != scope}, nil
}
