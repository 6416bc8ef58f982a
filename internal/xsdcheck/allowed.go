package xsdcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jacoelho/xsd/xsderrors"

	"tributary/internal/xsdtree"
)

// unexpected says that a child is not allowed, and what is.
func (x *explainer) unexpected(f *xsderrors.Error, p *place, label string, room int) string {
	in := x.around(f, p)
	local := label
	if namespace, name, found := strings.Cut(strings.TrimPrefix(label, "{"), "}"); found {
		local = name
		if in != nil && in.Namespace == namespace {
			label = local // the namespace is as it should be
		}
	}
	text := "the element " + label + " is not allowed here"
	if in == nil {
		return text
	}
	if len(in.Children) == 0 && in.Open == "" {
		return text + ": " + in.Name + " may not contain any element"
	}
	if in.Open != "" {
		return text
	}
	if other := in.Child(local); other != nil && p.seen && p.tag.space != other.Namespace {
		return text + ": it is in " + space(p.tag.space) + ", and must be in " + space(other.Namespace)
	}
	names := childNames(in)
	known := slices.Contains(names, local)
	if !known {
		text += didYouMean(local, names)
	}
	if !p.known {
		return text + "; " + in.Name + " may contain" + model(in, room)
	}
	text += "; " + expected(p, in, room/2)
	if known {
		text += ". " + in.Name + " may contain" + model(in, room/2)
	}
	return text
}

// incomplete says that an element ends too early, and what is missing.
func (x *explainer) incomplete(f *xsderrors.Error, p *place, room int) string {
	in := x.around(f, p)
	switch {
	case in == nil || in.Open != "":
		return "a required element is missing at its end"
	case p.known && len(p.next) > 0:
		if len(p.next) == 1 {
			return "the element " + p.next[0].Name + " is missing" + behind(p)
		}
		return "an element is missing" + behind(p) + "; allowed there: " + list(elementNames(in, p.next), len(p.next), room)
	}
	return "a required element is missing at its end; it may contain" + model(in, room)
}

// stray says that there may be no text.
func (x *explainer) stray(f *xsderrors.Error, p *place, room int) string {
	text := "text is not allowed here"
	if value := strings.TrimSpace(unescaped(p.text)); value != "" {
		text = "the text " + quoted(value) + " is not allowed here"
	}
	in := x.around(f, p)
	switch {
	case in == nil || in.Open != "":
		return text
	case len(in.Children) == 0:
		return text + ": " + in.Name + " must be empty"
	case p.known:
		return text + "; " + expected(p, in, room)
	}
	return text + "; " + in.Name + " may contain" + model(in, room)
}

// content says what is wrong with an element's text.
func (x *explainer) content(f *xsderrors.Error, p *place, detail string, room int) string {
	e := x.around(f, p)
	if e == nil || e.Text == nil {
		return valueInWords("the text", textOf(p), nil, detail, room)
	}
	return valueInWords("the text", textOf(p), e.Text, detail, room)
}

// undeclared says that an attribute is not allowed, and which are.
func (x *explainer) undeclared(f *xsderrors.Error, p *place, label string, room int) string {
	text := "the attribute " + label + " is not allowed"
	e := x.own(f, p)
	if e == nil || e.Open != "" {
		return text
	}
	var names []string
	for _, a := range e.Attributes {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return text + "; it may not have any"
	}
	return text + didYouMean(label, names) + "; allowed: " + list(alphabetical(names), len(names), room)
}

// roots says which root elements are allowed.
func (x *explainer) roots(label string, room int) string {
	if x.tree == nil || len(x.tree.Roots) == 0 {
		return ", which the schema for this kind of document doesn't have"
	}
	for _, root := range x.tree.Roots {
		if root.Name == local(label) {
			return "; it must be in " + space(root.Namespace)
		}
	}
	var all []string
	for _, root := range x.tree.Roots {
		all = append(all, root.Name)
	}
	of := ""
	if len(all) == 1 {
		of = " in " + space(x.tree.Roots[0].Namespace)
	}
	return "; it must be " + list(all, len(all), room) + of
}

// local returns the local name of a label, which has its namespace in braces if
// it has one.
func local(label string) string {
	if _, name, found := strings.Cut(label, "}"); found {
		return name
	}
	return label
}

func space(namespace string) string {
	if namespace == "" {
		return "no namespace"
	}
	return "the namespace " + cut(namespace, 120)
}

// expected says what may come at a place.
func expected(p *place, in *xsdtree.Element, room int) string {
	if len(p.next) == 0 {
		return "nothing may follow" + strings.Replace(behind(p), " after", "", 1)
	}
	text := "allowed" + behind(p) + ": " + list(elementNames(in, p.next), len(p.next), room)
	if p.end {
		text += ", or the end of " + in.Name
	}
	return text
}

func behind(p *place) string {
	if p.after == "" {
		return ""
	}
	return " after " + p.after
}

// elementNames returns the names of children in schema order, but those of a
// choice, whose order means nothing, in the order of the alphabet.
func elementNames(in *xsdtree.Element, elements []*xsdtree.Element) []string {
	var children []xsdtree.Child
	for _, e := range elements[:min(len(elements), maxSorted)] {
		i := slices.IndexFunc(in.Children, func(c xsdtree.Child) bool { return c.Element == e })
		if i >= 0 {
			children = append(children, in.Children[i])
		}
	}
	sortChoices(children)
	names := make([]string, len(children))
	for i, c := range children {
		names[i] = c.Name
	}
	return names
}

func sortChoices(children []xsdtree.Child) {
	for len(children) > 0 {
		choice := children[0].Choice
		size := slices.IndexFunc(children, func(c xsdtree.Child) bool { return c.Choice != choice })
		if size < 0 {
			size = len(children)
		}
		if choice > 0 {
			slices.SortFunc(children[:size], func(a, b xsdtree.Child) int { return cmp.Compare(a.Name, b.Name) })
		}
		children = children[size:]
	}
}

func childNames(e *xsdtree.Element) []string {
	var names []string
	for _, c := range e.Children {
		names = append(names, c.Name)
	}
	return names
}

// model says what an element may contain altogether, in a few words.
func model(e *xsdtree.Element, room int) string {
	var items []string
	choices := 0
	children := slices.Clone(e.Children[:min(len(e.Children), maxSorted)])
	sortChoices(children)
	for _, c := range children {
		item := c.Name
		switch {
		case c.Choice > 0:
			choices++
		case c.Max == xsdtree.Unbounded && c.Min == 0:
			item += " (any number)"
		case c.Max == xsdtree.Unbounded:
			item += fmt.Sprintf(" (%d or more)", c.Min)
		case c.Min == 0:
			item += fmt.Sprintf(" (at most %d)", c.Max)
		case c.Min != c.Max:
			item += fmt.Sprintf(" (%d to %d)", c.Min, c.Max)
		case c.Max > 1:
			item += fmt.Sprintf(" (%d)", c.Max)
		}
		items = append(items, item)
	}
	switch {
	case len(items) == 0:
		return " no element"
	case choices == len(items) || len(items) == 1:
		return " " + list(items, len(e.Children), room)
	}
	return ", in this order: " + list(items, len(e.Children), room)
}
