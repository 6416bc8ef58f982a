package mapping

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"tributary/internal/xsdtree"
)

// plan is a kind's elements as documents have them, with the columns that keep
// what they say.
type plan struct {
	root    *part
	parts   map[*node]*part
	missing []*node // that the schema doesn't have
}

// part is an element at one path.
type part struct {
	node     *node
	parent   *part
	element  *xsdtree.Element
	place    int // of the element among its parent's children, in schema order
	child    xsdtree.Child
	rule     *rule // that makes rows of it, or nil
	owner    *rule // of the nearest row at or above
	attrs    []kept
	text     []bind
	children []*part // in schema order
}

// kept is an attribute and where its value is, in schema order.
type kept struct {
	name  string
	binds []bind
}

// bind is a value in the rows of a rule.
type bind struct {
	rule   *rule
	column int
	zone   int // column of a date's time zone, or -1
}

// schemaOf reads a kind's schema.
func (m *Mapping) schemaOf(k *kind) (*xsdtree.Element, error) {
	dir, entry := path.Split(k.schema)
	fsys := m.fsys
	if dir != "" {
		var err error
		if fsys, err = fs.Sub(fsys, path.Clean(dir)); err != nil {
			return nil, fmt.Errorf("opening schema %s: %w", k.schema, err)
		}
	}
	s, err := xsdtree.Load(fsys, entry)
	if err != nil {
		return nil, err
	}
	root := s.Root(k.root.name)
	if root == nil {
		return nil, fmt.Errorf("schema %s has no root element %s", k.schema, k.root.name)
	}
	return root, nil
}

// planOf relates the mapping of a kind to its schema, once.
func (m *Mapping) planOf(k *kind) (*plan, error) {
	k.once.Do(func() {
		root, err := m.schemaOf(k)
		if err != nil {
			k.planErr = err
			return
		}
		p := &plan{parts: map[*node]*part{}}
		p.root = p.add(k.root, nil, root)
		p.bind(k)
		k.plan = p
	})
	return k.plan, k.planErr
}

// add makes the part of a node and those below it.
func (p *plan) add(n *node, parent *part, e *xsdtree.Element) *part {
	pt := &part{node: n, parent: parent, element: e, rule: n.rule, owner: n.rule}
	if pt.owner == nil && parent != nil {
		pt.owner = parent.owner
	}
	p.parts[n] = pt
	for _, a := range e.Attributes {
		if a.Namespace == "" {
			pt.attrs = append(pt.attrs, kept{name: a.Name})
		}
	}
	for _, c := range n.children {
		place := slices.IndexFunc(e.Children, func(x xsdtree.Child) bool { return x.Name == c.name })
		if place < 0 {
			p.missing = append(p.missing, c)
			continue
		}
		child := p.add(c, pt, e.Children[place].Element)
		child.place, child.child = place, e.Children[place]
		pt.children = append(pt.children, child)
	}
	slices.SortStableFunc(pt.children, func(a, b *part) int { return a.place - b.place })
	return pt
}

// bind finds for each attribute and text the columns that hold it.
func (p *plan) bind(k *kind) {
	for _, r := range k.rules {
		for i := range r.columns {
			s := &r.columns[i]
			pt := p.parts[s.from]
			if s.from == nil || pt == nil || r.table.Columns[i].zone || !p.holds(r, pt) {
				continue
			}
			to := &pt.text
			if s.attr != "" {
				at := slices.IndexFunc(pt.attrs, func(a kept) bool { return a.name == s.attr })
				if at < 0 {
					continue
				}
				to = &pt.attrs[at].binds
			}
			b := bind{rule: r, column: i, zone: -1}
			if r.table.Columns[i].Type == "date" {
				b.zone = zoneColumn(r, s)
			}
			at := slices.IndexFunc(*to, func(other bind) bool { return other.rule == r })
			switch {
			case at < 0:
				*to = append(*to, b)
			case b.exactness() > (*to)[at].exactness():
				(*to)[at] = b
			}
		}
	}
}

// zoneColumn finds the column that keeps the time zone of a date.
func zoneColumn(r *rule, s *source) int {
	for i := range r.columns {
		if z := &r.columns[i]; r.table.Columns[i].zone && z.from == s.from && z.attr == s.attr {
			return i
		}
	}
	return -1
}

// exactness orders columns by how much of a value they keep.
func (b bind) exactness() int {
	switch b.rule.table.Columns[b.column].Type {
	case "text[]":
		return 5
	case "text":
		return 4
	case "numeric", "boolean", "bigint":
		return 3
	case "date":
		if b.zone >= 0 {
			return 3
		}
		return 1
	}
	return 2
}

// holds says whether rows of a rule tell what a part says: the part belongs to
// the row's element, without a row of its own between; or it encloses the row
// and has no row that could tell it.
func (p *plan) holds(r *rule, pt *part) bool {
	if pt.owner == r {
		return true
	}
	if pt.rule != nil {
		return false
	}
	for up := r.node; up != nil; up = up.parent {
		if up == pt.node {
			return true
		}
	}
	return false
}

// said returns what a row says through one of the binds.
func said(binds []bind, row *Stored, r *rule) (text string, ok bool) {
	if row == nil {
		return "", false
	}
	for _, b := range binds {
		if b.rule != r {
			continue
		}
		v := row.Values[b.column]
		if v == nil {
			return "", false
		}
		text = r.table.Columns[b.column].lexical(*v)
		if b.zone >= 0 && row.Values[b.zone] != nil {
			text += *row.Values[b.zone]
		}
		return text, true
	}
	return "", false
}

// saidList returns the elements of a list, if a row has one for the binds.
func saidList(binds []bind, row *Stored, r *rule) (elements []string, ok bool) {
	for _, b := range binds {
		if b.rule != r || !r.table.Columns[b.column].list {
			continue
		}
		if v := row.Values[b.column]; v != nil {
			elements, _ = parseArray(*v)
		}
		return elements, true
	}
	return nil, false
}

// lexical is a value, as Postgres shows it, as XML has it.
func (c *Column) lexical(text string) string {
	switch c.Type {
	case "boolean":
		switch text {
		case "t":
			return "true"
		case "f":
			return "false"
		}
	case "double":
		switch text {
		case "Infinity":
			return "INF"
		case "-Infinity":
			return "-INF"
		}
	}
	return text
}
