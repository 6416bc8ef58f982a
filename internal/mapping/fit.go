package mapping

import (
	"fmt"
	"slices"
	"strings"

	"tributary/internal/profile/strict"
	"tributary/internal/xsdtree"
)

// Fit holds the mapping against the schemas of its kinds. The error joins one
// for each thing that can't be right: an element or attribute that the schema
// doesn't have, a type that can't hold a value, a required column whose value
// may be absent; each names file and line. The remarks are what a schema can say
// and the mapping doesn't keep, so that Write can't give it back, and what is
// right but unlikely to be meant.
func (m *Mapping) Fit() (remarks []string, err error) {
	f := &fitting{p: strict.NewProblems(File)}
	used := map[*Table]bool{}
	for _, k := range m.order {
		for _, r := range k.rules {
			used[r.table] = true
		}
		p, err := m.planOf(k)
		if err != nil {
			f.p.Add(k.line, "kind "+k.name, "can't be held against its schema: %w", err)
			continue
		}
		f.kind(k, p)
	}
	for _, t := range m.Tables {
		if !used[t] {
			f.remark("table %s: no element makes rows of it", t.Name)
		}
	}
	return f.remarks, f.p.Err()
}

type fitting struct {
	p       *strict.Problems
	k       *kind
	plan    *plan
	remarks []string
}

func (f *fitting) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.remarks, text) {
		f.remarks = append(f.remarks, text)
	}
}

func (f *fitting) kind(k *kind, p *plan) {
	f.k, f.plan = k, p
	for _, n := range p.missing {
		f.p.Add(n.line, "kind "+k.name, "names the element %s, which schema %s does not have; %s may hold %s", n.path(), k.schema, n.parent.name, f.offer(n.parent))
	}
	if k.centre == "" {
		f.remark("kind %s: centre is missing: documents of another centre than their file's would not be noticed", k.name)
	}
	for _, pt := range f.parts() {
		for _, a := range pt.node.attrs {
			f.attribute(pt, a)
		}
		if len(pt.node.text) > 0 && pt.element.Text == nil {
			f.p.Add(f.lineOf(pt.node, ""), "kind "+k.name, "uses the text of %s, but schema %s allows none there", pt.node.path(), k.schema)
		}
	}
	for _, r := range k.rules {
		f.rule(r)
	}
	for i, r := range k.rules {
		for _, other := range k.rules[:i] {
			if r.table == other.table && r.parent == other.parent && !f.apart(r, other) {
				f.remark("kind %s: rows of %s at %s and at %s can't be told apart in the table: give them a column with a word each", k.name, r.table.Name, other.node.path(), r.node.path())
			}
		}
	}
	f.walk(p.root)
}

// parts lists the plan's parts in the order of the schema.
func (f *fitting) parts() (out []*part) {
	var add func(*part)
	add = func(pt *part) {
		out = append(out, pt)
		for _, c := range pt.children {
			add(c)
		}
	}
	add(f.plan.root)
	return out
}

// offer lists what an element may hold, for people.
func (f *fitting) offer(n *node) string {
	var names []string
	if pt := f.plan.parts[n]; pt != nil {
		for _, c := range pt.element.Children {
			names = append(names, c.Name)
		}
	}
	return listed(names)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > 30 {
		names = append(names[:30:30], "…")
	}
	return strings.Join(names, ", ")
}

// lineOf finds the line of the profile that uses an attribute or a text.
func (f *fitting) lineOf(n *node, attr string) int {
	for _, r := range f.k.rules {
		for _, s := range r.columns {
			if s.from == n && s.attr == attr {
				return s.line
			}
		}
	}
	if f.k.centre != "" {
		return f.k.centreLine
	}
	return n.line
}

func (f *fitting) attribute(pt *part, a attrCapture) {
	attr := pt.element.Attr(a.name)
	key := "kind " + f.k.name
	line := f.lineOf(pt.node, a.name)
	if a.centre {
		key, line = key+": centre", f.k.centreLine
	}
	switch {
	case attr == nil:
		var names []string
		for _, other := range pt.element.Attributes {
			names = append(names, other.Name)
		}
		f.p.Add(line, key, "names the attribute %s of %s, which schema %s does not have; the element's are %s", a.name, pt.node.path(), f.k.schema, listed(names))
	case attr.Namespace != "":
		f.p.Add(line, key, "names the attribute %s of %s, which is in the namespace %s: only attributes in none are read", a.name, pt.node.path(), attr.Namespace)
	case a.centre && !attr.Required:
		f.remark("kind %s: the centre's attribute %s of %s is optional: a document without it is refused", f.k.name, a.name, pt.node.path())
	}
}

func (f *fitting) rule(r *rule) {
	key := fmt.Sprintf("kind %s, rows of %s at %s", f.k.name, r.table.Name, r.node.path())
	for i, s := range r.columns {
		c := &r.table.Columns[i]
		switch {
		case s.from != nil:
			f.source(key, &s, c)
		case c.Required && s.word == "":
			f.p.Add(r.line, key, "give no value to the column %s, which is required", c.Name)
		}
	}
	always := len(r.key) == 0
	for _, i := range r.key {
		s, c := &r.columns[i], &r.table.Columns[i]
		if s.from == nil && s.word == "" {
			f.p.Add(r.line, key, "give no value to the column %s, which is part of the key", c.Name)
		}
		if c.Type == "double" || c.zone {
			f.remark("%s: the key has the column %s of type %s, which is not good at being equal", key, c.Name, c.Type)
		}
		always = always || s.from != nil && f.always(s)
	}
	if !always {
		f.remark("%s: every column of the key may be absent, so that records without any are one", key)
	}
	if i := r.table.Subject; i >= 0 && r.columns[i].from == nil && r.columns[i].word == "" {
		f.remark("%s: the subject %s has no value", key, r.table.Columns[i].Name)
	}
}

// source checks one column against what the schema says of its value.
func (f *fitting) source(key string, s *source, c *Column) {
	pt := f.plan.parts[s.from]
	if pt == nil {
		return // said already
	}
	var typ *xsdtree.Type
	what := "the text of " + pt.node.path()
	if s.attr == "" {
		typ = pt.element.Text
	} else if attr := pt.element.Attr(s.attr); attr != nil {
		typ, what = &attr.Type, "the attribute "+s.attr+" of "+pt.node.path()
	}
	if typ == nil {
		return // said already
	}
	key = fmt.Sprintf("%s: values.%s", key, c.Name)
	if !c.holds(typ) {
		f.p.Add(s.line, key, "is of type %s, which can't hold every %s that %s may be", c.Type, typ.Base, what)
	}
	if c.Required && !f.always(s) {
		f.p.Add(s.line, key, "is required, but %s may be absent", what)
	}
	if c.list {
		return
	}
	for up := pt; up != nil && up.node.depth > s.depth; up = up.parent {
		if up.child.Max != 1 && up.rule == nil {
			f.remark("%s: of several elements %s only the first is kept", key, up.node.path())
		}
	}
}

// always says whether the schema demands what a source reads.
func (f *fitting) always(s *source) bool {
	pt := f.plan.parts[s.from]
	if pt == nil {
		return true // said already
	}
	if s.attr != "" {
		if attr := pt.element.Attr(s.attr); attr != nil && !attr.Required {
			return false
		}
	}
	for up := pt; up != nil && up.node.depth > s.depth; up = up.parent {
		if up.child.Min == 0 {
			return false
		}
	}
	return true
}

// holds says whether a column can hold all values of a type.
func (c *Column) holds(t *xsdtree.Type) bool {
	whole := slices.Contains([]string{"integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
		"negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"}, t.Base)
	switch c.Type {
	case "text", "text[]":
		return true
	}
	if t.List {
		return false
	}
	switch c.Type {
	case "bigint":
		return whole
	case "numeric":
		return whole || t.Base == "decimal"
	case "double":
		return whole || t.Base == "decimal" || t.Base == "double" || t.Base == "float"
	case "boolean":
		return t.Base == "boolean"
	}
	return t.Base == "date" // date, zone
}

// apart says whether rows of two rules differ in the table: one has a word
// where the other has another, or never the same.
func (f *fitting) apart(a, b *rule) bool {
	for i := range a.columns {
		x, y := &a.columns[i], &b.columns[i]
		absent := func(s *source) bool { return s.from == nil && s.word == "" }
		surely := func(s *source) bool { return s.word != "" || s.from != nil && f.always(s) }
		if x.word != "" && y.word != "" && x.word != y.word || absent(x) && surely(y) || absent(y) && surely(x) {
			return true
		}
	}
	return false
}
