package mapping

import (
	"slices"

	"tributary/internal/xsdtree"
)

// walk remarks what is not kept of an element and what lies in it.
func (f *fitting) walk(pt *part) {
	e, path := pt.element, pt.node.path()
	for _, a := range e.Attributes {
		if a.Namespace != "" {
			f.remark("kind %s: the attribute %s of %s is not kept: it is in a namespace", f.k.name, a.Name, path)
		}
	}
	for _, a := range pt.attrs {
		f.kept("the attribute "+a.name+" of "+path, a.binds, pt, &pt.element.Attr(a.name).Type)
	}
	if e.Text != nil && e.Text.MaxLength != 0 && !e.Mixed {
		f.kept("the text of "+path, pt.text, pt, e.Text)
	}
	if e.Mixed {
		f.remark("kind %s: where text stands between the elements of %s is not kept", f.k.name, path)
	}
	if e.Nillable {
		f.remark("kind %s: that %s is xsi:nil is not kept", f.k.name, path)
	}
	if e.Open != "" {
		f.remark("kind %s: %s may hold more than can be kept: %s", f.k.name, path, e.Open)
	}
	for i, c := range e.Children {
		at := slices.IndexFunc(pt.children, func(x *part) bool { return x.node.name == c.Name })
		first := slices.IndexFunc(e.Children, func(x xsdtree.Child) bool { return x.Name == c.Name })
		switch {
		case at < 0 && first == i:
			f.remark("kind %s: the element %s/%s, and what lies in it, is not kept", f.k.name, path, c.Name)
		case at >= 0 && first != i && pt.children[at].rule == nil:
			f.remark("kind %s: the schema has %s/%s at several places; which, is not kept", f.k.name, path, c.Name)
		}
	}
	for _, c := range pt.children {
		if c.rule == nil {
			f.rowless(c)
		}
		f.walk(c)
	}
}

// kept remarks if a value is not kept, or not whole.
func (f *fitting) kept(what string, binds []bind, pt *part, t *xsdtree.Type) {
	if len(binds) == 0 {
		f.remark("kind %s: %s is not kept", f.k.name, what)
		return
	}
	own := false
	for _, b := range binds {
		c := &b.rule.table.Columns[b.column]
		own = own || b.rule == pt.owner
		switch {
		case c.Type == "date" && b.zone < 0:
			f.remark("kind %s: the time zone of %s is not kept: add a column of type zone", f.k.name, what)
		case c.Type == "double" && t.Base != "double" && t.Base != "float":
			f.remark("kind %s: of %s no more than 15 digits are kept: use the type numeric", f.k.name, what)
		}
	}
	if !own {
		f.remark("kind %s: %s is kept with the rows in it: an element without any loses it", f.k.name, what)
	}
}

// rowless remarks what is not kept of how often, where and whether there is an
// element without a row.
func (f *fitting) rowless(pt *part) {
	path := pt.node.path()
	lists := slices.ContainsFunc(pt.text, func(b bind) bool { return b.rule.table.Columns[b.column].list })
	if pt.child.Max != 1 && !lists {
		f.remark("kind %s: of several elements %s only the first is kept: make rows of them", f.k.name, path)
	}
	if pt.child.Choice > 0 && pt.child.Max != 1 {
		f.remark("kind %s: where %s stands among its neighbours is not kept: make rows of it", f.k.name, path)
	}
	if !pt.demanded() && !f.shown(pt) {
		f.remark("kind %s: that there is an element %s is not kept if nothing is in it", f.k.name, path)
	}
}

// shown says whether an element that is there always leaves a value.
func (f *fitting) shown(pt *part) bool {
	if len(pt.text) > 0 {
		return true
	}
	for _, a := range pt.attrs {
		if len(a.binds) > 0 && pt.element.Attr(a.name).Required {
			return true
		}
	}
	for _, c := range pt.children {
		if c.child.Min > 0 && (c.rule != nil || f.shown(c)) {
			return true
		}
	}
	return false
}
