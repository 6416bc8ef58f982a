package xsdtree

import (
	"encoding/xml"
	"slices"
)

// content is what a type allows in an element.
type content struct {
	model *particle // nil: no children
	attrs []Attribute
	text  *Type
	mixed bool
	open  string
}

// complex returns the content of a complexType.
func (l *loader) complex(t *node) (*content, error) {
	if c := l.contents[t]; c != nil {
		return c, nil
	}
	if err := l.enter(t); err != nil {
		return nil, err
	}
	defer l.leave(t)
	c, err := l.derive(t)
	if err != nil {
		return nil, err
	}
	if yes(t.get("abstract")) && c.open == "" {
		c.open = "its type is abstract: documents choose another one by xsi:type (" + t.where() + ")"
	}
	if c.mixed && c.text == nil {
		text := plain("string")
		c.text = &text
	}
	l.contents[t] = c
	return c, nil
}

func yes(text string) bool { return text == "true" || text == "1" }

// derive returns the content of a complexType, out of its base if it has one.
func (l *loader) derive(t *node) (*content, error) {
	wrapper := t.child("simpleContent", "complexContent")
	if wrapper == nil {
		c := &content{mixed: yes(t.get("mixed"))}
		return c, l.own(c, t)
	}
	d := wrapper.child("extension", "restriction")
	if d == nil {
		return nil, wrapper.failf("xs:%s has neither extension nor restriction", wrapper.name)
	}
	base, err := l.named(d, d.get("base"))
	if err != nil {
		return nil, err
	}
	// Of an abstract base only what it allows is inherited.
	c := &content{attrs: slices.Clone(base.attrs), text: base.text}
	if len(base.attrs) > maxChildren {
		return nil, d.failf("the type has more than %d attributes", maxChildren)
	}
	if baseNode := l.baseNode(d); baseNode == nil || !yes(baseNode.get("abstract")) {
		c.open = base.open
	}
	if wrapper.name == "simpleContent" {
		if d.name == "restriction" {
			if c.text, err = l.restricted(d, base.text); err != nil {
				return nil, err
			}
		}
		if c.text == nil {
			return nil, d.failf("the base %q has no text to start from", d.get("base"))
		}
		return c, l.attributes(c, d)
	}
	if mixed, ok := wrapper.attr("mixed"); ok {
		c.mixed = yes(mixed)
	} else {
		c.mixed = yes(t.get("mixed"))
	}
	c.text = nil
	if d.name == "extension" {
		c.mixed = c.mixed || base.mixed
		c.model = base.model
	}
	return c, l.own(c, d)
}

// baseNode returns the complexType that a derivation starts from, if it is one.
func (l *loader) baseNode(d *node) *node {
	name, err := d.qname(d.get("base"))
	if err != nil {
		return nil
	}
	return l.global[component{"type", name}]
}

// own adds the particle and the attributes that stand in n.
func (l *loader) own(c *content, n *node) error {
	p, err := l.particleIn(n)
	if err != nil {
		return err
	}
	switch {
	case c.model == nil:
		c.model = p
	case p != nil:
		c.model = &particle{kind: sequence, min: 1, max: 1, parts: []*particle{c.model, p}}
	}
	if p != nil && p.open != "" && c.open == "" {
		c.open = p.open
	}
	return l.attributes(c, n)
}

// particleIn returns the particle that stands in a type or a group; nil if
// there is none.
func (l *loader) particleIn(n *node) (*particle, error) {
	part := n.child("sequence", "choice", "all", "group")
	if part == nil {
		return nil, nil
	}
	return l.particle(part)
}

// particle returns what an xs:sequence, choice, all, group, element or any
// stands for.
func (l *loader) particle(n *node) (*particle, error) {
	least, most, err := occurs(n)
	if err != nil {
		return nil, err
	}
	p := &particle{min: least, max: most}
	switch n.name {
	case "element":
		return p, l.elementParticle(p, n)
	case "any":
		p.kind = wildcard
		p.open = "xs:any allows further elements (" + n.where() + ")"
		return p, nil
	case "group":
		group, err := l.group(n)
		if err != nil {
			return nil, err
		}
		p.kind, p.parts, p.open = sequence, []*particle{group}, group.open
		return p, nil
	case "sequence":
		p.kind = sequence
	case "choice":
		p.kind = choice
	case "all":
		p.kind = all
	default:
		return nil, n.failf("xs:%s is not understood here", n.name)
	}
	for _, kid := range n.kids {
		part, err := l.particle(kid)
		if err != nil {
			return nil, err
		}
		p.parts = append(p.parts, part)
		if p.open == "" {
			p.open = part.open
		}
	}
	return p, nil
}

// group returns the particle of the group that n refers to.
func (l *loader) group(n *node) (*particle, error) {
	def, err := l.find(n, "group", n.get("ref"))
	if err != nil {
		return nil, err
	}
	if p := l.groups[def]; p != nil {
		return p, nil
	}
	if err := l.enter(def); err != nil {
		return nil, err
	}
	defer l.leave(def)
	p, err := l.particleIn(def)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, def.failf("the group is empty")
	}
	l.groups[def] = p
	return p, nil
}

// elementParticle makes p an element, or a choice of the elements that may
// stand for one.
func (l *loader) elementParticle(p *particle, n *node) error {
	ref := n.get("ref")
	if ref == "" {
		e, err := l.element(n)
		p.kind, p.element = one, e
		return err
	}
	head, err := l.find(n, "element", ref)
	if err != nil {
		return err
	}
	name, err := n.qname(ref)
	if err != nil {
		return err
	}
	var allowed []*particle
	for _, decl := range l.standIns(name, head) {
		e, err := l.element(decl)
		if err != nil {
			return err
		}
		allowed = append(allowed, &particle{kind: one, element: e, min: 1, max: 1})
	}
	switch len(allowed) {
	case 0:
		return n.failf("the element %q is abstract and nothing can stand for it", ref)
	case 1:
		p.kind, p.element = one, allowed[0].element
	default:
		p.kind, p.parts = choice, allowed
	}
	return nil
}

// standIns lists the declarations that may stand where head is referred to:
// itself and the members of its substitution group, and theirs, but for those
// that are abstract.
func (l *loader) standIns(name xml.Name, head *node) []*node {
	var found []*node
	seen := map[*node]bool{head: true}
	names, decls := []xml.Name{name}, []*node{head}
	for i := 0; i < len(decls); i++ {
		if !yes(decls[i].get("abstract")) {
			found = append(found, decls[i])
		}
		for _, member := range l.members[names[i]] {
			if !seen[member] {
				seen[member] = true
				decls = append(decls, member)
				names = append(names, xml.Name{Space: member.file.target, Local: member.get("name")})
			}
		}
	}
	return found
}
