package mapping

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tributary/internal/profile/strict"
)

// kind is the compiled form of one kind of document: a tree of the elements
// that matter.
type kind struct {
	name, schema string
	centre       string // path of the attribute that must be the file's centre
	line         int    // in the profile
	centreLine   int
	top          *node // has the root element as its only child
	root         *node
	rules        []*rule

	once    sync.Once // makes plan, or planErr
	plan    *plan
	planErr error
}

// source says where a column's value comes from when a row is written.
type source struct {
	capture        // depth < 0: literal or absent
	literal []byte // as COPY takes it, nil if the column is absent
	late    bool   // only there when the element at its depth ends

	word string // of the literal, as the profile has it
	from *node  // that is read, nil for a literal
	attr string // of from, or empty for its text
	line int    // in the profile, 0 if the column is absent
}

type rule struct {
	table   *Table
	node    *node
	parent  *rule // of the nearest enclosing row
	record  *rule // of the record that the row lies under or is
	columns []source
	key     []int
	emit    int // depth of the element at whose end the row is complete
	line    int // in the profile
}

func (l *loader) centre(k *kind, key string, v strict.Value) {
	if v.Line == 0 {
		return // its documents don't say it
	}
	path, attr, ok := strings.Cut(v.Text, "/@")
	if !ok || !elementName(attr) {
		l.p.Add(v.Line, key+": centre", "must be the path of an attribute, such as %s/@centre, not %q", k.root.name, v.Text)
		return
	}
	if n := l.path(k, strict.Value{Text: path, Line: v.Line}, key+": centre"); n != nil {
		n.attribute(attr).centre, n.centre = true, true
	}
}

// rows compiles the rules of one entry of rows.
func (l *loader) rows(k *kind, key string, f ruleFile) {
	key = fmt.Sprintf("%s, rows of %s", key, f.Table.Text)
	t := l.m.Table(f.Table.Text)
	switch {
	case t == nil:
		l.p.Add(f.Table.Line, key, "go to a table that is not below tables")
		return
	case len(f.At) == 0:
		l.p.Add(f.Table.Line, key+": at", "is missing: name the elements that become rows")
		return
	}
	for name, v := range f.Values {
		if t.column(name) < 0 {
			l.p.Add(v.Line, key+": values", "names %q, which is not a column of the table", name)
		}
	}
	var columns []int
	for _, name := range f.Key {
		i := t.column(name.Text)
		if i < 0 {
			l.p.Add(name.Line, key+": key", "names %q, which is not a column of the table", name.Text)
			return
		}
		t.Columns[i].short = true
		columns = append(columns, i)
	}
	switch {
	case t.Record && len(columns) == 0:
		l.p.Add(f.Table.Line, key+": key", "is missing: name the columns of the natural key")
	case !t.Record && len(columns) > 0:
		l.p.Add(f.Table.Line, key+": key", "is only for tables with record: true")
	}
	for _, at := range f.At {
		if n := l.path(k, at, key+": at"); n != nil {
			l.rule(k, key, &rule{table: t, node: n, key: columns, emit: n.depth, line: at.Line}, f)
		}
	}
}

func (l *loader) rule(k *kind, key string, r *rule, f ruleFile) {
	if r.node.rule != nil {
		l.p.Add(r.line, key+": at", "makes a second row of the element %s, which has one of %s", r.node.path(), r.node.rule.table.Name)
		return
	}
	for _, c := range r.table.Columns {
		s := source{capture: capture{depth: -1}}
		if expr, ok := f.Values[c.Name]; ok {
			var err error
			if s, err = compileSource(r.node, expr.Text, &c); err != nil {
				l.p.Add(expr.Line, fmt.Sprintf("%s: values.%s", key, c.Name), "%w", err)
			}
			s.line = expr.Line
			s.from.named(expr.Line)
		}
		r.columns = append(r.columns, s)
	}
	r.node.rule = r
	k.rules = append(k.rules, r)
}

// finish relates the rules of a kind to each other, which may stand in any
// order.
func (l *loader) finish(k *kind, key string) {
	for _, r := range k.rules {
		key := fmt.Sprintf("%s, rows of %s at %s", key, r.table.Name, r.node.path())
		for up := r.node.parent; up != nil && r.parent == nil; up = up.parent {
			r.parent = up.rule
		}
		switch {
		case r.parent == nil && len(r.table.Parents) > 0:
			l.p.Add(r.line, key, "are enclosed by no row, but the table's parent is %s", tableNames(r.table.Parents))
			return
		case r.parent != nil && !slices.Contains(r.table.Parents, r.parent.table):
			l.p.Add(r.line, key, "are enclosed by a row of %s, which the table does not name as a parent", r.parent.table.Name)
			return
		}
	}
	for _, r := range k.rules {
		key := fmt.Sprintf("%s, rows of %s at %s", key, r.table.Name, r.node.path())
		for up := r; up != nil && r.record == nil; up = up.parent {
			if up.table.Record {
				r.record = up
			}
		}
		for i, s := range r.columns {
			if s.late {
				r.emit = min(r.emit, s.depth)
			}
			if s.late && r.record != nil && s.depth < r.record.node.depth {
				l.p.Add(s.line, fmt.Sprintf("%s: values.%s", key, r.table.Columns[i].Name), "may use what lies in the record's element %s, and attributes of the elements that enclose it, but no more", r.record.node.path())
			}
		}
		if r.table.Record && r.emit < r.node.depth {
			r.emit = r.node.depth // said above
		}
	}
}

func tableNames(list []*Table) string {
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return strings.Join(names, " or ")
}

// compileSource understands one expression relative to at.
func compileSource(at *node, expr string, c *Column) (source, error) {
	none := source{capture: capture{depth: -1}}
	if word, ok := strings.CutPrefix(expr, "="); ok {
		return literal(word, c)
	}
	scope, rest := at, expr
	for rest == ".." || strings.HasPrefix(rest, "../") {
		if scope = scope.parent; scope == nil || scope.depth < 0 {
			return none, fmt.Errorf("%q leaves the document", expr)
		}
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".."), "/")
	}
	path, attr := rest, ""
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		path, attr = strings.TrimSuffix(rest[:i], "/"), rest[i+1:]
		if !elementName(attr) {
			return none, fmt.Errorf("%q names no attribute", expr)
		}
	}
	from := scope
	if path != "" && path != "." {
		for name := range strings.SplitSeq(path, "/") {
			if !elementName(name) {
				return none, fmt.Errorf("%q is not an attribute (@name), an element's text (name, or . for its own), a path of both, or a word (=word)", expr)
			}
		}
		from = scope.walk(path)
	} else if rest == "" && attr == "" && scope == at {
		return none, fmt.Errorf("the expression is empty: leave the column out if nothing says it")
	}
	s := source{capture: capture{depth: scope.depth}, from: from, attr: attr}
	s.slot = from.share(scope, attr, c.list)
	// What an open element's tag said is there; anything else waits.
	s.late = attr == "" || from != scope
	return s, nil
}

func literal(word string, c *Column) (source, error) {
	s := source{capture: capture{depth: -1}, word: word}
	if word == "" {
		return s, fmt.Errorf("the word is empty: leave the column out if nothing says it")
	}
	if c.list || c.zone {
		return s, fmt.Errorf("a word can't be of type %s", c.Type)
	}
	if c.convert == nil {
		return s, nil // its type is wrong, which is said
	}
	field, expected := c.convert(nil, []byte(word))
	if expected != "" {
		return s, fmt.Errorf("the word %q is not %s", word, expected)
	}
	s.literal = escape(nil, field)
	return s, nil
}
