package xsdtree

import "math"

// kind is what a particle of a content model is.
type kind int

const (
	one      kind = iota // an element
	sequence             // all parts, in order
	choice               // one of the parts
	all                  // all parts, in any order
	wildcard             // any element
)

// particle is a part of a content model. Groups are shared, so that it is a
// graph without cycles rather than a tree.
type particle struct {
	kind     kind
	min, max int
	element  *Element
	parts    []*particle
	open     string // why more is allowed than is known
}

// flattener lists the elements of a content model as children of an element.
type flattener struct {
	loader  *loader
	element *Element
	at      *node
	choices int
	steps   int
}

// add lists p's elements. It stands min to max times within its parent; in is
// the number of the choice it is in.
func (f *flattener) add(p *particle, least, most, in int) error {
	if p == nil || p.max == 0 {
		return nil
	}
	// Groups within groups, each twice, grow beyond all bounds even if there
	// is no element in them.
	if f.steps++; f.steps > 10*maxChildren {
		return f.at.failf("the content of %s is too large to be listed", f.element.Name)
	}
	least, most = times(least, p.min), times(most, p.max)
	switch p.kind {
	case one:
		f.element.Children = append(f.element.Children, Child{Element: p.element, Min: least, Max: most, Choice: in})
		f.loader.listed++
		if len(f.element.Children) > maxChildren || f.loader.listed > maxListed {
			return f.at.failf("%s has more than %d children, or the schema lists more than %d children and attributes", f.element.Name, maxChildren, maxListed)
		}
		return nil
	case wildcard:
		return nil // Element.Open says so
	case choice:
		if len(p.parts) > 1 {
			least = 0
			f.choices++
			in = f.choices
		}
	case sequence, all:
	}
	for _, part := range p.parts {
		if err := f.add(part, least, most, in); err != nil {
			return err
		}
	}
	return nil
}

// times multiplies numbers of occurrences.
func times(a, b int) int {
	switch {
	case a == 0 || b == 0:
		return 0
	case a == Unbounded || b == Unbounded:
		return Unbounded
	}
	return int(min(int64(a)*int64(b), math.MaxInt32))
}
