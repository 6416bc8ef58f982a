package mapping

import (
	"fmt"
	"io"
	"slices"
)

// Stored is a row as the warehouse has it.
type Stored struct {
	Table *Table
	// Ordinal is the row's place in the document.
	Ordinal int32
	// Parent is the ordinal of the enclosing row; 0 where it isn't known, which
	// is allowed for rows that are not under a record.
	Parent int32
	// Values are the mapped columns as Postgres shows them as text, nil for
	// null: dates are YYYY-MM-DD, lists are arrays.
	Values []*string
}

// Source gives the rows of a document back, one after another.
type Source interface {
	// Next returns the next row in order of ordinals, or nil behind the last.
	// The row is kept until its element is written.
	Next() (*Stored, error)
}

// Write writes the document of the given kind whose rows src gives: the inverse
// of Read. Elements, attributes, values and order are those of the document
// that the rows were read from, as far as the mapping keeps them (Fit tells
// what it doesn't); comments, prefixes, white space between elements and other
// spellings of the same value are not. It needs memory for the open elements
// only. An error is one of the schema, of src, of w, or says which row doesn't
// fit the mapping.
func (m *Mapping) Write(w io.Writer, kind string, src Source) error {
	k := m.kinds[kind]
	if k == nil {
		return fmt.Errorf("documents of kind %q are not mapped", kind)
	}
	p, err := m.planOf(k)
	if err != nil {
		return err
	}
	if len(p.missing) > 0 {
		return fmt.Errorf("the mapping names the element %s, which schema %s does not have: see profile check", p.missing[0].path(), k.schema)
	}
	x := &writing{kind: k, plan: p, out: newOutput(w)}
	x.out.text(`<?xml version="1.0" encoding="UTF-8"?>`)
	for {
		row, err := src.Next()
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if err := x.row(row); err != nil {
			return err
		}
		if x.out.err != nil {
			return x.out.err
		}
	}
	if !x.begun {
		x.open(p.root, nil, nil)
	}
	for len(x.levels) > 0 {
		x.close()
	}
	x.out.text("\n")
	return x.out.flush()
}

// level is an open element.
type level struct {
	part *part
	row  *Stored // nearest row at or above
	rule *rule   // of row
	done []bool  // of part.children: written, or past
	own  bool    // row is the element's own
}

type writing struct {
	kind   *kind
	plan   *plan
	out    output
	levels []level
	begun  bool
	last   int32
}

// row writes the element of a row as far as its start tag and text.
func (x *writing) row(row *Stored) error {
	if row.Ordinal <= x.last {
		return fmt.Errorf("rows of the document are out of order: %d behind %d", row.Ordinal, x.last)
	}
	x.last = row.Ordinal
	if len(row.Values) != len(row.Table.Columns) {
		return fmt.Errorf("row %d of %s has %d values for %d columns", row.Ordinal, row.Table.Name, len(row.Values), len(row.Table.Columns))
	}
	if err := x.enclose(row); err != nil {
		return err
	}
	var above *rule
	if top := x.top(); top >= 0 {
		above = x.levels[top].rule
	}
	r := x.kind.ruleFor(row, above)
	if r == nil {
		return fmt.Errorf("no element can be the one of row %d of %s: it fits no rule of kind %s", row.Ordinal, row.Table.Name, x.kind.name)
	}
	x.descend(r, row)
	return nil
}

// top returns the level of the innermost open row, or -1.
func (x *writing) top() int {
	for i := len(x.levels) - 1; i >= 0; i-- {
		if x.levels[i].own {
			return i
		}
	}
	return -1
}

// enclose closes the elements of rows that don't enclose row.
func (x *writing) enclose(row *Stored) error {
	for {
		top := x.top()
		switch {
		case row.Parent > 0 && top < 0:
			return fmt.Errorf("row %d of %s lies in row %d, which is not there or has ended", row.Ordinal, row.Table.Name, row.Parent)
		case row.Parent > 0 && x.levels[top].row.Ordinal == row.Parent:
			return nil
		case row.Parent == 0 && (top < 0 || slices.Contains(row.Table.Parents, x.levels[top].rule.table)):
			return nil
		}
		for len(x.levels) > top {
			x.close()
		}
	}
}

// ruleFor finds the rule that made a row: the one whose words, and absent
// columns, are the row's.
func (k *kind) ruleFor(row *Stored, above *rule) *rule {
	for _, r := range k.rules {
		if r.table == row.Table && r.parent == above && r.matches(row) {
			return r
		}
	}
	return nil
}

func (r *rule) matches(row *Stored) bool {
	for i := range r.columns {
		s, v := &r.columns[i], row.Values[i]
		c := &r.table.Columns[i]
		switch {
		case s.depth >= 0:
		case s.word == "" && v != nil:
			return false
		case s.word != "":
			if v == nil {
				return false
			}
			if word, _ := c.convert(nil, []byte(s.word)); c.lexical(string(word)) != c.lexical(*v) {
				return false
			}
		}
	}
	return true
}

// descend opens the elements down to that of a rule.
func (x *writing) descend(r *rule, row *Stored) {
	path := []*part{x.plan.parts[r.node]}
	for path[0].parent != nil {
		path = append([]*part{path[0].parent}, path...)
	}
	depth := r.node.depth
	keep := 0
	for keep < len(x.levels) && keep < depth && x.levels[keep].part == path[keep] {
		keep++
	}
	for len(x.levels) > keep {
		x.close()
	}
	for _, pt := range path[keep:depth] {
		x.open(pt, nil, row)
	}
	x.open(path[depth], r, row)
}

// open writes what of the enclosing element comes before a part, and the
// part's start tag and text. rule is that of row if the element is the row's;
// otherwise the row lies within, and may tell what the element says.
func (x *writing) open(pt *part, r *rule, row *Stored) {
	x.begun = true
	l := level{part: pt, done: make([]bool, len(pt.children))}
	if n := len(x.levels); n > 0 {
		x.before(&x.levels[n-1], pt)
		l.row, l.rule = x.levels[n-1].row, x.levels[n-1].rule
	}
	if r != nil {
		l.row, l.rule, l.own = row, r, true
	}
	within := (*rule)(nil)
	if r == nil && row != nil {
		within = x.within(row)
	}
	x.out.start(pt)
	for _, a := range pt.attrs {
		text, ok := said(a.binds, l.row, l.rule)
		if !ok && within != nil {
			text, ok = said(a.binds, row, within)
		}
		if ok {
			x.out.attribute(a.name, text)
		}
	}
	text, ok := said(pt.text, l.row, l.rule)
	if !ok && within != nil {
		text, ok = said(pt.text, row, within)
	}
	if ok {
		x.out.content(text)
	}
	x.levels = append(x.levels, l)
}

// within finds the rule of a row whose element lies in one that is opened for it.
func (x *writing) within(row *Stored) *rule {
	var above *rule
	if top := x.top(); top >= 0 {
		above = x.levels[top].rule
	}
	return x.kind.ruleFor(row, above)
}

// before writes the parts of an open element that have no rows and come before
// next.
func (x *writing) before(l *level, next *part) {
	for i, c := range l.part.children {
		if c == next {
			l.done[i] = true
		}
		if c.place < next.place && !l.done[i] {
			l.done[i] = x.derive(c, l.row, l.rule)
		}
	}
}

// close writes what is left of the innermost element, and its end tag.
func (x *writing) close() {
	l := &x.levels[len(x.levels)-1]
	for i, c := range l.part.children {
		if !l.done[i] {
			x.derive(c, l.row, l.rule)
		}
	}
	x.out.end(l.part)
	x.levels = x.levels[:len(x.levels)-1]
}

// demanded says that the schema wants the element in any case, so that it was
// there even if nothing tells of it.
func (pt *part) demanded() bool {
	return pt.rule == nil && pt.child.Min > 0 && pt.child.Choice == 0 && len(pt.text) == 0
}

// derive writes an element that has no row, as often as the row around it says,
// or the schema demands. It reports whether there was one.
func (x *writing) derive(pt *part, row *Stored, r *rule) bool {
	if pt.rule != nil || !hasContent(pt, row, r) && !pt.demanded() {
		return false
	}
	if elements, ok := saidList(pt.text, row, r); ok {
		for _, text := range elements {
			x.out.start(pt)
			x.out.content(text)
			x.out.end(pt)
		}
		return true
	}
	x.out.start(pt)
	for _, a := range pt.attrs {
		if text, ok := said(a.binds, row, r); ok {
			x.out.attribute(a.name, text)
		}
	}
	if text, ok := said(pt.text, row, r); ok {
		x.out.content(text)
	}
	for _, c := range pt.children {
		x.derive(c, row, r)
	}
	x.out.end(pt)
	return true
}

// hasContent says whether a row tells anything of an element or what lies in it.
func hasContent(pt *part, row *Stored, r *rule) bool {
	if row == nil || pt.rule != nil {
		return false
	}
	if _, ok := said(pt.text, row, r); ok {
		return true
	}
	for _, a := range pt.attrs {
		if _, ok := said(a.binds, row, r); ok {
			return true
		}
	}
	for _, c := range pt.children {
		if hasContent(c, row, r) {
			return true
		}
	}
	return false
}
